import { useTranslation } from 'react-i18next';
import { seoulMonths, startOfDay } from '../format/time.ts';
import { useFormat } from '../i18n/use-format.ts';
import { Select } from '../ui/field.tsx';
import { useNow } from '../ui/states.tsx';
import { type LedgerSearch, ledgerKinds } from './ledger-search.ts';

export interface LedgerFiltersProps {
  readonly search: LedgerSearch;
  readonly change: (changes: Partial<LedgerSearch>) => void;
  /** When the account was made: its first month. Absent until it is known. */
  readonly since: string | undefined;
}

/** What a ledger is narrowed by: a month and a kind. */
export function LedgerFilters({ search, change, since }: LedgerFiltersProps) {
  const { t } = useTranslation('transactions');
  const format = useFormat();
  const nowMs = useNow(60_000);
  const known = seoulMonths(since ?? nowMs, nowMs);
  const months = search.month === '' || known.includes(search.month) ? known : [...known, search.month];
  return (
    <>
      <Select
        aria-label={t('month')}
        value={search.month}
        onChange={({ target }) => change({ month: target.value })}
        options={[
          { value: '', label: t('allMonths') },
          ...months.map((value) => ({ value, label: format.month(startOfDay(`${value}-01`) ?? nowMs) })),
        ]}
      />
      <Select
        aria-label={t('kindLabel')}
        value={search.kind}
        onChange={({ target }) => change({ kind: target.value as LedgerSearch['kind'] })}
        options={ledgerKinds.map((value) => ({ value, label: t(`kind.${value === '' ? 'all' : value}`) }))}
      />
    </>
  );
}
