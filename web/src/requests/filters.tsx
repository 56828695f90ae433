import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Input, Select } from '../ui/field.tsx';
import { FilterBar } from '../ui/filter-bar.tsx';
import { useFilterOptions } from '../usage/filter-options.ts';
import { useUsageSearch } from '../usage/usage-search.ts';
import { dimensionsOf, type UsageSource } from '../usage/usage-source.ts';
import type { OutcomeFilter } from './request-query.ts';
import type { RequestSearch } from './search.ts';

export interface RequestFiltersProps {
  readonly source: UsageSource;
  readonly search: RequestSearch;
  readonly change: (changes: Partial<RequestSearch>) => void;
}

/** What a list of requests is narrowed by: an id, the outcome, and the values that usage has. */
export function RequestFilters({ source, search, change }: RequestFiltersProps) {
  const { t } = useTranslation('requests');
  const [find, setFind] = useState(search.find);
  const { filters, setFilters, query } = useUsageSearch();
  const options = useFilterOptions(source, query.range, dimensionsOf(source), filters);
  return (
    <div className="flex flex-wrap items-center gap-2">
      <form
        className="w-72 max-md:w-full"
        onSubmit={(event) => {
          event.preventDefault();
          change({ find: find.trim() });
        }}
      >
        <Input
          type="search"
          aria-label={t('find')}
          placeholder={t('find')}
          value={find}
          onChange={({ target }) => {
            setFind(target.value);
            if (target.value === '') change({ find: '' });
          }}
        />
      </form>
      <Select
        aria-label={t('column.outcome')}
        value={search.outcome}
        onChange={({ target }) => change({ outcome: target.value as OutcomeFilter })}
        options={(['', 'ok', 'failed', 'cancelled'] as const).map((value) => ({
          value,
          label: t(`outcome.${value === '' ? 'all' : value}`),
        }))}
      />
      <FilterBar filters={options} values={filters} onChange={setFilters} />
    </div>
  );
}
