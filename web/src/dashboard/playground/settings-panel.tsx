import { useTranslation } from 'react-i18next';
import { useFormat } from '../../i18n/use-format.ts';
import { Button } from '../../ui/button.tsx';
import { Field, Input, Select, Textarea } from '../../ui/field.tsx';
import type { Model } from './model.ts';
import { exampleTools, faultOf, offeredBy, type Parameter, type Settings, toolsOf } from './settings.ts';

export interface SettingsPanelProps {
  readonly model: Model;
  readonly settings: Settings;
  readonly onChange: (settings: Settings) => void;
}

/** The parameters and tools that the model takes. What is empty is left to the model. */
export function SettingsPanel({ model, settings, onChange }: SettingsPanelProps) {
  const { t } = useTranslation('playground');
  const set = (name: string, typed: string): void =>
    onChange({ ...settings, values: { ...settings.values, [name]: typed } });
  const offered = offeredBy(model);
  const rare = offered.filter(({ isRare = false }) => isRare);
  const common = offered.filter((parameter) => !rare.includes(parameter));
  const field = (parameter: Parameter) => (
    <ParameterField
      key={parameter.name}
      parameter={parameter}
      typed={settings.values[parameter.name] ?? ''}
      onChange={(typed) => set(parameter.name, typed)}
    />
  );
  return (
    <div className="flex flex-col gap-4">
      {common.map(field)}
      {rare.length === 0 ? null : (
        <details>
          <summary className="cursor-pointer text-sm text-muted">{t('more')}</summary>
          <div className="flex flex-col gap-4 pt-3">{rare.map(field)}</div>
        </details>
      )}
      {model.supports_tools ? (
        <Field
          label={t('tools')}
          hint={t('toolsHint')}
          error={toolsOf(settings.tools) === null ? t('toolsError') : null}
        >
          <Textarea
            rows={settings.tools === '' ? 3 : 10}
            spellCheck={false}
            className="font-mono text-xs"
            value={settings.tools}
            onChange={({ target }) => onChange({ ...settings, tools: target.value })}
          />
        </Field>
      ) : null}
      {model.supports_tools && settings.tools === '' ? (
        <div className="-mt-2">
          <Button size="sm" onClick={() => onChange({ ...settings, tools: exampleTools })}>
            {t('exampleTool')}
          </Button>
        </div>
      ) : null}
    </div>
  );
}

function ParameterField({
  parameter,
  typed,
  onChange,
}: {
  parameter: Parameter;
  typed: string;
  onChange: (typed: string) => void;
}) {
  const { t } = useTranslation('playground');
  const format = useFormat();
  const { name, kind, min, max, options } = parameter;
  const fault = faultOf(parameter, typed);
  const limits = {
    min: min ?? '',
    max: max !== undefined && kind === 'integer' ? format.count(max) : (max ?? ''),
  };
  const hasRange = min !== undefined && max !== undefined;
  return (
    <Field
      label={
        <>
          {t(`parameter.${name}`)} <code className="font-mono text-xs font-normal text-muted">{name}</code>
        </>
      }
      hint={kind === 'lines' ? t('linesHint') : hasRange ? t('rangeHint', limits) : undefined}
      error={
        fault === null
          ? null
          : fault === 'range' && !hasRange
            ? t('fault.min', limits)
            : t(`fault.${fault}`, limits)
      }
    >
      {kind === 'choice' ? (
        <Select
          value={typed}
          onChange={({ target }) => onChange(target.value)}
          options={['', ...(options ?? [])].map((value) => ({
            value,
            label: value === '' ? t('unset') : t(`choice.${value}`),
          }))}
        />
      ) : kind === 'lines' ? (
        <Textarea rows={2} value={typed} onChange={({ target }) => onChange(target.value)} />
      ) : (
        <Input
          isNumeric
          placeholder={t('unset')}
          value={typed}
          onChange={({ target }) => onChange(target.value)}
        />
      )}
    </Field>
  );
}
