import * as Popover from '@radix-ui/react-popover';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { daysOf, problemOfDays, type Range, type RangeKind, rangeKinds } from '../format/range.ts';
import { Button } from './button.tsx';
import { Field, Input, Select } from './field.tsx';
import { Segmented } from './tabs.tsx';
import { useIsPhone } from './use-media.ts';

export interface RangePickerProps {
  readonly value: Range;
  readonly onChange: (range: Range) => void;
}

/** Today, 7 days, 30 days, this month, or chosen days, all in Seoul. */
export function RangePicker({ value, onChange }: RangePickerProps) {
  const { t } = useTranslation();
  const isPhone = useIsPhone();
  const [isOpen, setIsOpen] = useState(false);
  const options = rangeKinds.map((kind) => ({
    value: kind,
    label: kind === 'custom' && value.range === 'custom' ? customText(value) : t(`range.${kind}`),
  }));
  const choose = (kind: RangeKind): void => {
    if (kind === 'custom') setIsOpen(true);
    else onChange({ range: kind });
  };
  return (
    <Popover.Root open={isOpen} onOpenChange={setIsOpen}>
      <Popover.Anchor asChild>
        <span className="inline-block max-w-full">
          {isPhone ? (
            <Select
              aria-label={t('range.label')}
              options={options}
              value={value.range}
              onChange={({ target }) => choose(target.value as RangeKind)}
            />
          ) : (
            <Segmented label={t('range.label')} options={options} value={value.range} onChange={choose} />
          )}
        </span>
      </Popover.Anchor>
      <Popover.Portal>
        <Popover.Content
          align="end"
          sideOffset={6}
          collisionPadding={8}
          aria-label={t('range.custom')}
          className="popup z-40 w-72 rounded-md bg-raised p-4 shadow-raised"
        >
          <CustomDays
            value={value}
            onChange={(range) => {
              setIsOpen(false);
              onChange(range);
            }}
          />
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

function CustomDays({ value, onChange }: RangePickerProps) {
  const { t } = useTranslation();
  const [days, setDays] = useState(() => daysOf(value, Date.now()));
  const problem = problemOfDays(days.from, days.to);
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        if (problem === null) onChange({ range: 'custom', ...days });
      }}
    >
      <Field label={t('range.from')}>
        <Input
          type="date"
          value={days.from}
          onChange={({ target }) => setDays({ ...days, from: target.value })}
        />
      </Field>
      <Field
        label={t('range.to')}
        hint={t('range.zone')}
        error={problem === null ? undefined : t(`range.problem.${problem}`)}
      >
        <Input
          type="date"
          value={days.to}
          onChange={({ target }) => setDays({ ...days, to: target.value })}
        />
      </Field>
      <Button type="submit" variant="primary" disabled={problem !== null}>
        {t('apply')}
      </Button>
    </form>
  );
}

function customText({ from = '', to = '' }: Range): string {
  return from === to ? from : `${from} – ${to}`;
}
