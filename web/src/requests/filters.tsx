import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Button } from '../ui/button.tsx';
import { Input, Select } from '../ui/field.tsx';
import { type ChipName, chipNames, type OutcomeFilter } from './request-query.ts';
import type { RequestSearch } from './search.ts';

export interface RequestFiltersProps {
  readonly search: RequestSearch;
  readonly change: (changes: Partial<RequestSearch>) => void;
  /** The name of an app that the list is filtered by; its ID unless stated. */
  readonly appName?: (id: string) => ReactNode;
}

/** What a list of requests is narrowed by: an id, the outcome, and what a link has chosen. */
export function RequestFilters({ search, change, appName = (id) => id }: RequestFiltersProps) {
  const { t } = useTranslation('requests');
  const [find, setFind] = useState(search.find);
  const nameOf = (name: ChipName, value: string): ReactNode =>
    name !== 'app' ? value.slice(0, 24) : value === '0' ? t('noApp') : appName(value);
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
      {chipNames.flatMap((name) =>
        search[name].map((value) => (
          <Button
            key={`${name} ${value}`}
            size="sm"
            variant="quiet"
            icon="close"
            onClick={() => change({ [name]: search[name].filter((one) => one !== value) })}
            title={t('clearFilter')}
          >
            {t(`filter.${name}`)}: {nameOf(name, value)}
          </Button>
        )),
      )}
    </div>
  );
}
