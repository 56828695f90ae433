import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from '../../app/link.tsx';
import { Page as Frame } from '../../app/page.tsx';
import { ReadError } from '../../app/read-error.tsx';
import { parseMicro } from '../../format/money.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { Badge } from '../../ui/badge.tsx';
import { CopyableId } from '../../ui/copy.tsx';
import { Input, Select } from '../../ui/field.tsx';
import { Duration, None } from '../../ui/figures.tsx';
import { FilterBar } from '../../ui/filter-bar.tsx';
import { EmptyState } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';
import { contextSizes, foundModels, type ModelSearch, useModelFilters, useModelSearch } from './filters.ts';
import { bestUptime, fastest, fastestSpeed, type Model, useModels } from './model.ts';
import { Where } from './where.tsx';

const noModels: readonly Model[] = [];

/** U9: what can be called, what it costs, and how it does at the moment; open to anybody. */
export function Page() {
  const { t } = useTranslation('models');
  const [search, change] = useModelSearch();
  const models = useModels();
  const columns = useColumns();
  const all = models.data?.items;
  const rows = useMemo(() => (all === undefined ? undefined : foundModels(all, search)), [all, search]);
  return (
    <Frame title={t('title')}>
      <DataTable
        id="models"
        label={t('title')}
        columns={columns}
        rows={rows}
        rowId={({ id }) => id}
        tools={<Filters models={all ?? noModels} search={search} change={change} />}
        empty={
          <EmptyState icon="model" title={t('empty.title')}>
            {t('empty.text')}
          </EmptyState>
        }
        error={models.isError && models.data === undefined ? <ReadError of={models} /> : null}
      />
    </Frame>
  );
}

interface FiltersProps {
  readonly models: readonly Model[];
  readonly search: ModelSearch;
  readonly change: (changes: Partial<ModelSearch>) => void;
}

function Filters({ models, search, change }: FiltersProps) {
  const { t } = useTranslation('models');
  const format = useFormat();
  const [typed, setTyped] = useState(search.search);
  const { where, can, provider } = search;
  return (
    <>
      <div className="w-60 max-md:w-full">
        <Input
          type="search"
          aria-label={t('search')}
          placeholder={t('search')}
          value={typed}
          onChange={({ target }) => {
            setTyped(target.value);
            change({ search: target.value });
          }}
        />
      </div>
      <Select
        aria-label={t('column.context')}
        value={search.context}
        onChange={({ target }) => change({ context: target.value as ModelSearch['context'] })}
        options={contextSizes.map((value) => ({
          value,
          label: value === '' ? t('anyContext') : t('minContext', { tokens: format.count(Number(value)) }),
        }))}
      />
      <FilterBar
        filters={useModelFilters(models)}
        values={{ where, can, provider }}
        onChange={(values) => change(values)}
      />
    </>
  );
}

function useColumns(): readonly Column<Model>[] {
  const { t } = useTranslation('models');
  const format = useFormat();
  return useMemo(
    (): readonly Column<Model>[] => [
      {
        id: 'id',
        header: t('column.model'),
        cell: (row) => (
          <div className="min-w-0">
            <Link to={`/models/${row.id}`} className="block truncate rounded-sm font-medium hover:underline">
              {row.name}
            </Link>
            <CopyableId id={row.id} label={t('column.model')} maxChars={36} />
          </div>
        ),
        value: (row) => row.id,
        isTitle: true,
      },
      {
        id: 'state',
        header: t('column.state'),
        kind: 'state',
        cell: (row) => <Where model={row} />,
        value: (row) => row.candidates.some(({ is_local }) => is_local),
      },
      {
        id: 'context',
        header: t('column.context'),
        kind: 'number',
        cell: (row) => format.count(row.context_length),
        value: (row) => row.context_length,
      },
      {
        id: 'maxOutput',
        header: t('column.maxOutput'),
        kind: 'number',
        cell: (row) => format.count(row.max_completion_tokens),
        value: (row) => row.max_completion_tokens,
        isHiddenByDefault: true,
      },
      {
        id: 'can',
        header: t('column.can'),
        cell: (row) => (
          <span className="flex flex-wrap gap-1">
            {row.input_modalities
              .filter((one) => one !== 'text')
              .map((one) => (
                <Badge key={one}>{one}</Badge>
              ))}
            {row.supports_tools ? <Badge>{t('tools')}</Badge> : null}
          </span>
        ),
        value: (row) => row.supports_tools,
        isWideOnly: true,
      },
      {
        id: 'ttft',
        header: t('column.ttft'),
        kind: 'number',
        unit: 'ms',
        cell: (row) => <Duration ms={fastest(row)} />,
        value: fastest,
      },
      {
        id: 'speed',
        header: t('speed'),
        kind: 'number',
        cell: (row) => {
          const speed = fastestSpeed(row);
          return speed === null ? <None /> : format.rate(speed);
        },
        value: fastestSpeed,
        isHiddenByDefault: true,
      },
      {
        id: 'uptime',
        header: t('column.uptime'),
        kind: 'number',
        cell: (row) => {
          const uptime = bestUptime(row);
          return uptime === null ? <None /> : format.percent(uptime / 100);
        },
        value: bestUptime,
      },
      {
        id: 'prompt',
        header: t('column.prompt'),
        kind: 'money',
        cell: (row) => format.pricePerMillion(row.price.prompt_micro),
        value: (row) => parseMicro(row.price.prompt_micro),
      },
      {
        id: 'completion',
        header: t('column.completion'),
        kind: 'money',
        cell: (row) => format.pricePerMillion(row.price.completion_micro),
        value: (row) => parseMicro(row.price.completion_micro),
        isMainFigure: true,
      },
    ],
    [format, t],
  );
}
