import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change } from '../../api/client.ts';
import { readQuery } from '../../api/query.ts';
import { decimalWon, parseWon } from '../../format/money.ts';
import { useFormat } from '../../i18n/use-format.ts';
import {
  changedRestrictions,
  isPerMinuteValid,
  RestrictionFields,
  restrictionsOf,
} from '../../keys/restrictions.tsx';
import { Field, Input, Select } from '../../ui/field.tsx';
import { ActDialog } from '../acts/act-dialog.tsx';
import { ReasonField } from '../acts/fields.tsx';
import type { ConsoleKey } from './data.ts';

const limitResets = ['never', 'daily', 'weekly', 'monthly'] as const;

/** Changes the limit of a key. */
export function KeyLimit({ row, onClose }: { row: ConsoleKey; onClose: () => void }) {
  const { t } = useTranslation('console-keys');
  const format = useFormat();
  const [limit, setLimit] = useState(row.limit_micro === null ? '' : decimalWon(row.limit_micro));
  const [reset, setReset] = useState(row.limit_reset);
  const [restrictions, setRestrictions] = useState(restrictionsOf(row));
  const candidates = useQuery(readQuery('GET /console/api/candidates', {})).data?.candidates ?? [];
  const [reason, setReason] = useState('');
  const [isTried, setIsTried] = useState(false);
  const micro = limit.trim() === '' ? null : parseWon(limit);
  const isLimitValid = limit.trim() === '' || (micro !== null && micro >= 0n);
  return (
    <ActDialog
      title={t('limitTitle', { name: row.name })}
      description={t('limitText')}
      confirmText={t('changeLimit')}
      values={[limit.trim(), reset, JSON.stringify(restrictions), reason.trim()]}
      isValid={isLimitValid && isPerMinuteValid(restrictions) && reason.trim() !== ''}
      onInvalid={() => setIsTried(true)}
      act={(changeKey) =>
        change(
          'PATCH /console/api/keys/{hash}',
          {
            params: { hash: row.hash },
            body: {
              limit_micro: micro === null ? null : String(micro),
              limit_reset: reset,
              ...changedRestrictions(row, restrictions),
              reason: reason.trim(),
            },
          },
          changeKey,
        )
      }
      done={t('limitDone', { name: row.name })}
      onClose={onClose}
    >
      <Field
        label={t('column.limit')}
        optionalText={t('common:optional')}
        hint={micro === null ? t('keys:limitHint') : format.money(micro)}
        error={isTried && !isLimitValid ? t('keys:limitError') : null}
      >
        <Input
          value={limit}
          isNumeric
          inputMode="decimal"
          suffix={t('keys:won')}
          onChange={({ target }) => setLimit(target.value)}
        />
      </Field>
      <Field label={t('keys:reset')}>
        <Select
          value={reset}
          onChange={({ target }) => setReset(target.value as typeof reset)}
          options={limitResets.map((value) => ({ value, label: t(`keys:resets.${value}`) }))}
        />
      </Field>
      <RestrictionFields
        value={restrictions}
        onChange={setRestrictions}
        models={[...new Set(candidates.map(({ model }) => model))]}
        providers={[...new Set(candidates.map(({ provider, slot }) => provider ?? `naru/${slot}`))]}
      />
      <ReasonField value={reason} onChange={setReason} isTried={isTried} />
    </ActDialog>
  );
}
