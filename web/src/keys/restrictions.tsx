import { type KeyboardEvent, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Badge } from '../ui/badge.tsx';
import { IconButton } from '../ui/button.tsx';
import { Field, Input } from '../ui/field.tsx';

/** What a key may use, as the API has it. */
export interface Restrictions {
  readonly allowed_models: string[] | null;
  readonly allowed_providers: string[] | null;
  readonly rpm_limit: number | null;
}

export const noRestrictions: Restrictions = {
  allowed_models: null,
  allowed_providers: null,
  rpm_limit: null,
};

const maxPerMinute = 1_000_000;

export function isPerMinuteValid({ rpm_limit: count }: Restrictions): boolean {
  return count === null || (Number.isInteger(count) && count >= 1 && count <= maxPerMinute);
}

/** What was changed: a name that the catalogue has lost since is not sent, and so not rejected. */
export function changedRestrictions(before: Restrictions, after: Restrictions): Partial<Restrictions> {
  const names = Object.keys(noRestrictions) as (keyof Restrictions)[];
  const changed = names.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  return Object.fromEntries(changed.map((name) => [name, after[name]]));
}

/** Those of a row that has more members. */
export function restrictionsOf(row: Restrictions): Restrictions {
  return { ...noRestrictions, ...changedRestrictions(noRestrictions, row) };
}

function isRestricted(row: Restrictions): boolean {
  return Object.keys(changedRestrictions(noRestrictions, row)).length > 0;
}

/** Marks a key that may not use everything. */
export function RestrictedMark({ row }: { row: Restrictions }) {
  const { t } = useTranslation('keys');
  return isRestricted(row) ? <Badge>{t('restricted')}</Badge> : null;
}

export interface RestrictionFieldsProps {
  readonly value: Restrictions;
  readonly onChange: (value: Restrictions) => void;
  /** What the catalogue has. */
  readonly models: readonly string[];
  readonly providers: readonly string[];
}

/** The fields of what a key may use; folded while it may use everything. */
export function RestrictionFields({ value, onChange, models, providers }: RestrictionFieldsProps) {
  const { t } = useTranslation('keys');
  const [isOpen] = useState(isRestricted(value));
  const { rpm_limit: perMinute } = value;
  return (
    <details open={isOpen}>
      <summary className="cursor-pointer text-sm font-medium">{t('restrictions')}</summary>
      <div className="flex flex-col gap-3 pt-3">
        <NamesField
          label={t('allowedModels')}
          hint={t('allowedModelsHint')}
          names={value.allowed_models ?? []}
          options={models}
          onChange={(names) => onChange({ ...value, allowed_models: names })}
        />
        <NamesField
          label={t('allowedProviders')}
          hint={t('allowedProvidersHint')}
          names={value.allowed_providers ?? []}
          options={providers}
          onChange={(names) => onChange({ ...value, allowed_providers: names })}
        />
        <Field
          label={t('rpmLimit')}
          hint={t('limitHint')}
          error={isPerMinuteValid(value) ? null : t('rpmLimitError')}
        >
          <Input
            value={perMinute === null ? '' : String(perMinute)}
            type="number"
            min={1}
            max={maxPerMinute}
            isNumeric
            inputMode="numeric"
            onChange={({ target }) =>
              onChange({ ...value, rpm_limit: target.value === '' ? null : Number(target.value) })
            }
          />
        </Field>
      </div>
    </details>
  );
}

interface NamesFieldProps {
  readonly label: string;
  readonly hint: string;
  readonly names: string[];
  readonly options: readonly string[];
  readonly onChange: (names: string[] | null) => void;
}

/** Names that are added one by one, found in a list by typing; what is typed last counts too. */
function NamesField({ label, hint, names, options, onChange }: NamesFieldProps) {
  const { t } = useTranslation('keys');
  const listId = useId();
  const [kept, setKept] = useState(names);
  const [typed, setTyped] = useState('');
  const change = (chosen: string[], text: string): void => {
    setKept(chosen);
    setTyped(text);
    const all = [...new Set([...chosen, text.trim()])].filter((name) => name !== '');
    onChange(all.length === 0 ? null : all);
  };
  const onEnter = (event: KeyboardEvent): void => {
    const name = typed.trim();
    if (event.key !== 'Enter' || name === '' || event.nativeEvent.isComposing) return;
    event.preventDefault();
    change([...new Set([...kept, name])], '');
  };
  return (
    <div className="flex flex-col gap-1.5">
      <Field label={label} hint={hint} optionalText={t('common:optional')}>
        <Input
          value={typed}
          list={listId}
          onChange={({ target }) => change(kept, target.value)}
          onKeyDown={onEnter}
        />
      </Field>
      <datalist id={listId}>
        {options.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <ul className="flex flex-wrap gap-1.5 empty:hidden">
        {kept.map((name) => (
          <li key={name} className="flex min-w-0 items-center rounded-sm bg-hover pl-1.5 font-mono text-xs">
            <span className="truncate">{name}</span>
            <IconButton
              icon="close"
              size="sm"
              label={t('removeName', { name })}
              onClick={() =>
                change(
                  kept.filter((each) => each !== name),
                  typed,
                )
              }
            />
          </li>
        ))}
      </ul>
    </div>
  );
}
