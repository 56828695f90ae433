import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Button } from '../ui/button.tsx';
import { Input, Select } from '../ui/field.tsx';
import { chipNames, type OutcomeFilter, type RequestSearch } from './search.ts';

export interface RequestFiltersProps {
  readonly search: RequestSearch;
  readonly change: (changes: Partial<RequestSearch>) => void;
  /** The name of the app that the list is filtered by. */
  readonly appName: ReactNode;
}

/** What a list of requests is narrowed by: an id, the outcome, and what a link has chosen. */
export function RequestFilters({ search, change, appName }: RequestFiltersProps) {
  const { t } = useTranslation('requests');
  const [find, setFind] = useState(search.find);
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
      {chipNames
        .filter((name) => search[name] !== '')
        .map((name) => (
          <Button
            key={name}
            size="sm"
            variant="quiet"
            icon="close"
            onClick={() => change({ [name]: '' })}
            title={t('clearFilter')}
          >
            {t(`filter.${name}`)}:{' '}
            {name === 'app' ? (search.app === '0' ? t('noApp') : appName) : search[name].slice(0, 24)}
          </Button>
        ))}
    </div>
  );
}
