import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../../api/client.ts';
import { readQuery } from '../../api/query.ts';
import { ReadError } from '../../app/read-error.tsx';
import { type SearchSchema, text, useSearchParams } from '../../app/search-params.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { Chart, countValues } from '../../ui/chart/index.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { EmptyState, Skeleton } from '../../ui/states.tsx';
import { DataTable } from '../../ui/table/data-table.tsx';
import { type AppRow, useAppColumns } from './app-columns.tsx';
import { Origin } from './origin.tsx';

type Ranking = ResponseOf<'GET /dashboard/api/rankings/apps'>;
interface Filters {
  readonly end: string;
  readonly category: string;
  readonly subcategory: string;
}
const schema: SearchSchema<Filters> = { end: text(), category: text(), subcategory: text() };
const chartedApps = 12;

/** The apps of one period by tokens. */
export function AppRanking() {
  const { t } = useTranslation('rankings');
  const [filters, change] = useSearchParams(schema);
  const ranking = useQuery(readQuery('GET /dashboard/api/rankings/apps', { query: { ...filters } }));
  const columns = useAppColumns();
  const rows = ranking.data?.data;
  return (
    <>
      <Choices ranking={ranking.data} filters={filters} onChange={change} />
      {ranking.data === undefined ? (
        ranking.isError ? null : (
          <Skeleton className="h-70" />
        )
      ) : (
        <Origin
          meta={ranking.data.meta}
          isSample={ranking.data.data.some(({ source }) => source === 'fixture')}
        />
      )}
      {rows === undefined || rows.length === 0 ? null : <FirstApps rows={rows} />}
      <DataTable
        id="app-ranking"
        label={t('view.apps')}
        columns={columns}
        rows={rows}
        rowId={({ app_id }) => String(app_id)}
        empty={
          <EmptyState icon="trophy" title={t('empty.title')}>
            {t('empty.text')}
          </EmptyState>
        }
        error={ranking.isError && rows === undefined ? <ReadError of={ranking} /> : null}
      />
    </>
  );
}

function Choices(props: {
  ranking: Ranking | undefined;
  filters: Filters;
  onChange: (changes: Partial<Filters>) => void;
}) {
  const { ranking, filters, onChange } = props;
  const { t } = useTranslation('rankings');
  const categories = ranking?.categories ?? [];
  const subcategories = categories.find(({ name }) => name === filters.category)?.subcategories ?? [];
  const anyOf = (values: readonly string[], chosen: string) => [
    { value: '', label: t('all') },
    // What the URL names must be seen, also where no app has it.
    ...[...new Set([...values, ...(chosen === '' ? [] : [chosen])])].map((value) => ({
      value,
      label: value,
    })),
  ];
  return (
    <div className="flex flex-wrap gap-3 *:min-w-44 max-md:*:w-full">
      <Field label={t('period')}>
        <Select
          value={ranking?.meta.end_date ?? filters.end}
          onChange={({ target }) => onChange({ end: target.value })}
          options={(ranking?.periods ?? []).map(({ start, end }) => ({
            value: end,
            label: `${start} – ${end}`,
          }))}
        />
      </Field>
      <Field label={t('category')}>
        <Select
          value={filters.category}
          onChange={({ target }) => onChange({ category: target.value, subcategory: '' })}
          options={anyOf(
            categories.map(({ name }) => name),
            filters.category,
          )}
        />
      </Field>
      <Field label={t('subcategory')}>
        <Select
          value={filters.subcategory}
          disabled={filters.category === ''}
          onChange={({ target }) => onChange({ subcategory: target.value })}
          options={anyOf(subcategories, filters.subcategory)}
        />
      </Field>
    </div>
  );
}

function FirstApps({ rows }: { rows: readonly AppRow[] }) {
  const { t } = useTranslation('rankings');
  const format = useFormat();
  const chart = useMemo(() => {
    const first = rows.slice(0, chartedApps);
    return {
      points: first.map(({ app_id, app_name, rank }) => ({
        key: app_id,
        label: rank === null ? '' : t('rankShort', { rank }),
        title: app_name,
      })),
      series: [
        {
          key: 'app tokens',
          label: t('column.tokens'),
          values: first.map(({ total_tokens }) => (total_tokens === null ? null : BigInt(total_tokens))),
        },
      ],
    };
  }, [rows, t]);
  return (
    <Chart
      kind="bars"
      title={t('firstApps', { count: chart.points.length })}
      pointHeader={t('column.app')}
      points={chart.points}
      series={chart.series}
      values={countValues(format)}
      heightPx={220}
    />
  );
}
