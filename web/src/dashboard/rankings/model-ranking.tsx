import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { readQuery } from '../../api/query.ts';
import { ReadError } from '../../app/read-error.tsx';
import { oneOf, type SearchSchema, useSearchParams } from '../../app/search-params.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { Chart, countValues } from '../../ui/chart/index.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { None } from '../../ui/figures.tsx';
import { EmptyState, Skeleton } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';
import { Segmented } from '../../ui/tabs.tsx';
import { chartOf, type ModelTokens, type Ranking, rowsOf, type SeriesName } from './model-tokens.ts';
import { Origin } from './origin.tsx';
import { hasDays, series, sliceOf } from './slices.ts';

const grains = ['day', 'week', 'month'] as const;
const spans = ['30d', '90d', '1y'] as const;
interface Filters {
  readonly series: SeriesName;
  readonly grain: (typeof grains)[number];
  readonly span: (typeof spans)[number];
}
const schema: SearchSchema<Filters> = {
  series: oneOf<SeriesName>(series, 'all'),
  grain: oneOf(grains, 'day'),
  span: oneOf(spans, '30d'),
};

/** Tokens of the models by date, over all traffic or a slice of it. */
export function ModelRanking() {
  const { t } = useTranslation('rankings');
  const [filters, change] = useSearchParams(schema);
  const { span: range, grain: period } = filters;
  const ranking = useQuery(
    readQuery('GET /dashboard/api/rankings/models', {
      query: { series: filters.series, period, range },
    }),
  );
  const rows = useMemo(() => (ranking.data === undefined ? undefined : rowsOf(ranking.data)), [ranking.data]);
  const columns = useColumns();
  return (
    <>
      <Choices filters={filters} onChange={change} />
      {ranking.data === undefined ? (
        ranking.isError ? null : (
          <Skeleton className="h-70" />
        )
      ) : (
        <>
          <Origin meta={ranking.data.meta} isSample={ranking.data.is_sample} />
          {ranking.data.models.length === 0 ? null : <Tokens ranking={ranking.data} />}
        </>
      )}
      <DataTable
        id="model-ranking"
        label={t('view.models')}
        columns={columns}
        rows={rows}
        rowId={({ model }) => model ?? '__other__'}
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

function Choices({ filters, onChange }: { filters: Filters; onChange: (changes: Partial<Filters>) => void }) {
  const { t } = useTranslation('rankings');
  const shownGrains = grains.filter((grain) => grain !== 'day' || hasDays(filters.series));
  return (
    <div className="flex flex-wrap items-end gap-3">
      <Field label={t('slice')} className="min-w-60">
        <Select
          value={filters.series}
          onChange={({ target }) => onChange({ series: target.value as SeriesName })}
          options={series.map((value) => {
            const { kind, of } = sliceOf(value);
            return { value, label: of === '' ? t('all') : `${t(`sliceKind.${kind}`)}: ${of}` };
          })}
        />
      </Field>
      <Segmented
        label={t('grainLabel')}
        value={shownGrains.includes(filters.grain) ? filters.grain : 'week'}
        onChange={(grain) => onChange({ grain })}
        options={shownGrains.map((value) => ({ value, label: t(`grain.${value}`) }))}
      />
      <Segmented
        label={t('spanLabel')}
        value={filters.span}
        onChange={(span) => onChange({ span })}
        options={spans.map((value) => ({ value, label: t(`span.${value}`) }))}
      />
    </div>
  );
}

function Tokens({ ranking }: { ranking: Ranking }) {
  const { t } = useTranslation('rankings');
  const format = useFormat();
  const chart = useMemo(() => chartOf(ranking, t('common:chart.other'), format), [ranking, format, t]);
  return (
    <Chart
      kind="bars"
      title={t('column.tokens')}
      pointHeader={t('column.date')}
      points={chart.points}
      series={chart.series}
      values={countValues(format)}
      heightPx={280}
    />
  );
}

function useColumns(): readonly Column<ModelTokens>[] {
  const { t } = useTranslation('rankings');
  const format = useFormat();
  return useMemo(
    (): readonly Column<ModelTokens>[] => [
      {
        id: 'rank',
        header: t('column.rank'),
        kind: 'number',
        cell: ({ rank }) => rank ?? <None />,
        value: ({ rank }) => rank,
      },
      {
        id: 'model',
        header: t('column.model'),
        cell: ({ model }) => model ?? <span className="text-muted">{t('common:chart.other')}</span>,
        value: ({ model }) => model ?? t('common:chart.other'),
        isTitle: true,
      },
      {
        id: 'share',
        header: t('column.share'),
        kind: 'number',
        cell: ({ share }) => format.percent(share),
        value: ({ share }) => share,
      },
      {
        id: 'tokens',
        header: t('column.tokens'),
        kind: 'number',
        cell: ({ tokens }) => format.count(tokens),
        value: ({ tokens }) => tokens,
        isMainFigure: true,
      },
    ],
    [format, t],
  );
}
