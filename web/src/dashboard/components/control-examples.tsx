import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ActionButton } from '../../app/permission.tsx';
import { list, useRange, useSearchParams } from '../../app/search-params.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { Checkbox, Field, Input, Select, Switch, Textarea } from '../../ui/field.tsx';
import { type Filter, FilterBar } from '../../ui/filter-bar.tsx';
import { RangePicker } from '../../ui/range-picker.tsx';
import { Segmented } from '../../ui/tabs.tsx';

const schema = { model: list(), status: list() };
const metrics = ['cost', 'requests', 'tokens'] as const;

/** Buttons, inputs, filters. */
export function ControlExamples() {
  return (
    <div className="flex flex-col gap-6">
      <Buttons />
      <Inputs />
      <Filters />
    </div>
  );
}

function Buttons() {
  const { t } = useTranslation('components');
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Button variant="primary">{t('primary')}</Button>
      <Button icon="plus">{t('secondary')}</Button>
      <Button variant="quiet">{t('quiet')}</Button>
      <Button variant="danger">{t('danger')}</Button>
      <Button variant="primary" disabled>
        {t('disabled')}
      </Button>
      <ActionButton needs="admin">{t('notPermitted')}</ActionButton>
      <Button variant="primary" isBusy>
        {t('busy')}
      </Button>
      <Button size="sm">{t('small')}</Button>
      <IconButton icon="refresh" label={t('common:refresh')} />
    </div>
  );
}

function Inputs() {
  const { t } = useTranslation('components');
  const [limit, setLimit] = useState('5,000');
  return (
    <div className="grid gap-4 md:grid-cols-2 lg:grid-cols-3">
      <Field label={t('name')} hint={t('nameHint')}>
        <Input placeholder={t('namePlaceholder')} />
      </Field>
      <Field label={t('limit')} optionalText={t('common:optional')}>
        <Input isNumeric suffix="원" value={limit} onChange={({ target }) => setLimit(target.value)} />
      </Field>
      <Field label={t('name')} error={t('nameError')}>
        <Input defaultValue="key" />
      </Field>
      <Field label={t('reset')}>
        <Select
          defaultValue="daily"
          options={[
            { value: 'never', label: t('never') },
            { value: 'daily', label: t('daily') },
          ]}
        />
      </Field>
      <Field label={t('disabled')}>
        <Input disabled value="sk-or-v1-…" readOnly />
      </Field>
      <Field label={t('note')}>
        <Textarea rows={2} />
      </Field>
      <div className="flex flex-col gap-2">
        <Checkbox label={t('checkbox')} hint={t('checkboxHint')} defaultChecked />
        <Checkbox label={t('checkbox')} />
        <Checkbox label={t('disabled')} disabled />
      </div>
      <div className="flex flex-col gap-2">
        <Switch label={t('switch')} defaultChecked />
        <Switch label={t('switch')} />
        <Switch label={t('disabled')} disabled />
      </div>
    </div>
  );
}

function Filters() {
  const { t } = useTranslation('components');
  const [range, setRange] = useRange();
  const [values, change] = useSearchParams(schema);
  const [metric, setMetric] = useState<(typeof metrics)[number]>('cost');
  const filters: readonly Filter[] = [
    {
      id: 'model',
      label: t('model'),
      options: Array.from({ length: 12 }, (_, index) => ({
        value: `naru/model-${index + 1}`,
        label: `naru/model-${index + 1}`,
      })),
    },
    {
      id: 'status',
      label: t('status'),
      options: [
        { value: 'ok', label: t('succeeded') },
        { value: 'failed', label: t('failed') },
      ],
    },
  ];
  return (
    <div className="flex flex-wrap items-center gap-3">
      <RangePicker value={range} onChange={setRange} />
      <Segmented
        label={t('metric')}
        value={metric}
        onChange={setMetric}
        options={metrics.map((value) => ({ value, label: t(value) }))}
      />
      <FilterBar filters={filters} values={values} onChange={(next) => change(next)} />
    </div>
  );
}
