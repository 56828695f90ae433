import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../../api/client.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { None } from '../../ui/figures.tsx';
import type { Column } from '../../ui/table/column.ts';

/** An app of a period, as the dataset has it. */
export type AppRow = ResponseOf<'GET /dashboard/api/rankings/apps'>['data'][number];

/** The columns of the app ranking. */
export function useAppColumns(): readonly Column<AppRow>[] {
  const { t } = useTranslation('rankings');
  const format = useFormat();
  return useMemo(
    (): readonly Column<AppRow>[] => [
      {
        id: 'rank',
        header: t('column.rank'),
        kind: 'number',
        cell: ({ rank }) => rank ?? <None />,
        value: ({ rank }) => rank,
      },
      {
        id: 'app',
        header: t('column.app'),
        cell: (row) => <AppCell row={row} />,
        value: ({ app_name }) => app_name,
        isTitle: true,
      },
      {
        id: 'category',
        header: t('category'),
        cell: ({ category, subcategory }) =>
          category === null ? <None /> : [category, subcategory].filter((one) => one !== null).join(' / '),
        value: ({ category, subcategory }) =>
          [category, subcategory].filter((one) => one !== null).join(' / '),
      },
      {
        id: 'requests',
        header: t('column.requests'),
        kind: 'number',
        cell: ({ total_requests: count }) => (count === null ? <None /> : format.count(count)),
        value: ({ total_requests }) => total_requests,
      },
      {
        id: 'growth',
        header: t('column.growth'),
        kind: 'number',
        cell: ({ growth_pct: growth }) =>
          growth === null ? <None /> : `${growth > 0 ? '+' : ''}${format.percent(growth / 100)}`,
        value: ({ growth_pct }) => growth_pct,
      },
      {
        id: 'tokens',
        header: t('column.tokens'),
        kind: 'number',
        cell: ({ total_tokens: tokens }) => (tokens === null ? <None /> : format.count(BigInt(tokens))),
        value: ({ total_tokens: tokens }) => (tokens === null ? null : BigInt(tokens)),
        isMainFigure: true,
      },
    ],
    [format, t],
  );
}

/** The name and the address, both from foreign apps: text, never a link. */
function AppCell({ row: { app_name: name, url, description } }: { row: AppRow }) {
  return (
    <span className="flex max-w-100 min-w-0 flex-col py-1" title={description ?? undefined}>
      <span className="truncate font-medium">{name}</span>
      {url === null ? null : <span className="truncate text-xs text-muted">{url}</span>}
    </span>
  );
}
