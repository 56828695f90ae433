import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../../api/client.ts';
import { wordsOfError } from '../../api/errors.ts';
import { readQuery } from '../../api/query.ts';
import { oneOf, type SearchSchema, useRange, useSearchParams } from '../../app/search-params.ts';
import { parseMicro } from '../../format/money.ts';
import { useFormat, useLanguage } from '../../i18n/use-format.ts';
import { Figure, FigureRow, Money } from '../../ui/figures.tsx';
import { RangePicker } from '../../ui/range-picker.tsx';
import { EmptyState, ErrorState, SkeletonLines } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';
import { Segmented } from '../../ui/tabs.tsx';
import { rangeQuery } from '../../usage/usage-search.ts';

type Group = ResponseOf<'GET /console/api/accounts/{account}/usage/groups'>['items'][number];

const dimensions = ['model', 'app', 'key'] as const;
type Dimension = (typeof dimensions)[number];
const schema: SearchSchema<{ by: Dimension }> = { by: oneOf(dimensions, 'model') };
const maxGroups = 100;

/** What an account used, as its owner sees it: in all, and by model, app or key. */
export function AccountUsage({ id }: { id: string }) {
  const { t } = useTranslation('account');
  const language = useLanguage();
  const [range, setRange] = useRange();
  const [{ by }, change] = useSearchParams(schema);
  const query = rangeQuery(range);
  const params = { account: id };
  const groups = useQuery(
    readQuery('GET /console/api/accounts/{account}/usage/groups', {
      params,
      query: { ...query, by, limit: maxGroups },
    }),
  );
  const columns = useColumns(id, by);
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-wrap gap-2">
        <RangePicker value={range} onChange={setRange} />
      </div>
      <Totals id={id} query={query} />
      <DataTable
        id={`account-usage-${by}`}
        label={t(`by.${by}`)}
        columns={columns}
        rows={groups.data?.items}
        rowId={({ value }) => value ?? ''}
        tools={
          <Segmented
            label={t('byLabel')}
            value={by}
            onChange={(next) => change({ by: next })}
            options={dimensions.map((value) => ({ value, label: t(`by.${value}`) }))}
          />
        }
        empty={<EmptyState title={t('noUsage')} />}
        error={
          groups.isError && groups.data === undefined ? (
            <ErrorState onRetry={() => void groups.refetch()} isRetrying={groups.isFetching}>
              {wordsOfError(groups.error, language, t)}
            </ErrorState>
          ) : null
        }
      />
    </div>
  );
}

function Totals({ id, query }: { id: string; query: ReturnType<typeof rangeQuery> }) {
  const { t } = useTranslation('account');
  const format = useFormat();
  const totals = useQuery(
    readQuery('GET /console/api/accounts/{account}/usage/totals', { params: { account: id }, query }),
  );
  if (totals.data === undefined) return totals.isError ? null : <SkeletonLines lines={2} />;
  const { sums } = totals.data;
  return (
    <FigureRow>
      <Figure label={t('column.cost')}>
        <Money micro={sums.cost_micro} />
      </Figure>
      <Figure label={t('column.requests')}>{format.count(sums.requests)}</Figure>
      <Figure label={t('column.failures')}>{format.count(sums.failures)}</Figure>
      <Figure label={t('column.tokens')}>{format.count(sums.prompt_tokens + sums.completion_tokens)}</Figure>
    </FigureRow>
  );
}

function useColumns(id: string, by: Dimension): readonly Column<Group>[] {
  const { t } = useTranslation('account');
  const format = useFormat();
  return useMemo(
    (): readonly Column<Group>[] => [
      {
        id: 'value',
        header: t(`by.${by}`),
        cell: ({ value, label }) =>
          value === null || value === '' ? (
            t(value === null ? 'others' : 'common:none')
          ) : (
            <Link
              to={`/accounts/${id}` as never}
              search={((before: object) => ({ ...before, tab: 'requests', [by]: value })) as never}
              className="hover:underline"
            >
              {label ?? (by === 'app' && value === '0' ? t('noApp') : value)}
            </Link>
          ),
        value: ({ value, label }) => label ?? value ?? t('others'),
        isTitle: true,
      },
      {
        id: 'requests',
        header: t('column.requests'),
        kind: 'number',
        cell: ({ sums }) => format.count(sums.requests),
        value: ({ sums }) => sums.requests,
      },
      {
        id: 'failures',
        header: t('column.failures'),
        kind: 'number',
        cell: ({ sums }) => format.count(sums.failures),
        value: ({ sums }) => sums.failures,
      },
      {
        id: 'prompt',
        header: t('column.prompt'),
        kind: 'number',
        cell: ({ sums }) => format.count(sums.prompt_tokens),
        value: ({ sums }) => sums.prompt_tokens,
      },
      {
        id: 'completion',
        header: t('column.completion'),
        kind: 'number',
        cell: ({ sums }) => format.count(sums.completion_tokens),
        value: ({ sums }) => sums.completion_tokens,
      },
      {
        id: 'cost',
        header: t('column.cost'),
        kind: 'money',
        cell: ({ sums }) => <Money micro={sums.cost_micro} maxDecimals={2} />,
        value: ({ sums }) => parseMicro(sums.cost_micro),
        isMainFigure: true,
      },
    ],
    [by, format, id, t],
  );
}
