import { useTranslation } from 'react-i18next';
import { Input, Select } from '../ui/field.tsx';
import { type LedgerSearch, ledgerKinds } from './ledger-search.ts';

export interface LedgerFiltersProps {
  readonly search: LedgerSearch;
  readonly change: (changes: Partial<LedgerSearch>) => void;
}

/** What a ledger is narrowed by: a month and a kind. */
export function LedgerFilters({ search, change }: LedgerFiltersProps) {
  const { t } = useTranslation('transactions');
  return (
    <>
      <div className="w-44">
        <Input
          type="month"
          aria-label={t('month')}
          value={search.month}
          onChange={({ target }) => change({ month: target.value })}
        />
      </div>
      <Select
        aria-label={t('kindLabel')}
        value={search.kind}
        onChange={({ target }) => change({ kind: target.value as LedgerSearch['kind'] })}
        options={ledgerKinds.map((value) => ({ value, label: t(`kind.${value === '' ? 'all' : value}`) }))}
      />
    </>
  );
}
