import { useTranslation } from 'react-i18next';
import { useMonths } from '../app/use-months.ts';
import { Select } from '../ui/field.tsx';
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
  const months = useMonths(since, search.month);
  return (
    <>
      <Select
        aria-label={t('month')}
        value={search.month}
        onChange={({ target }) => change({ month: target.value })}
        options={[{ value: '', label: t('allMonths') }, ...months]}
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
