import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../api/client.ts';
import { Link, type Search } from '../app/link.tsx';
import type { Address } from '../app/paths.ts';
import { parseMicro, shareOf } from '../format/money.ts';
import { useFormat } from '../i18n/use-format.ts';
import { Badge } from '../ui/badge.tsx';
import { Money, None, Time } from '../ui/figures.tsx';
import type { Column, Sort } from '../ui/table/column.ts';

/** An app with its usage in the range, as the API sends it. */
export type AppRow = ResponseOf<'GET /dashboard/api/apps'>['items'][number];

/** The requests that stated no app have this id; nothing of it can be changed. */
export const noAppId = 0;

/** The order of a list of apps: what costs most first. */
export const byCost: Sort = { columnId: 'cost', isDescending: true };

/** Where the requests of an app are. */
export interface AppRequests {
  readonly to: Address;
  /** What the link states beside the app. */
  readonly search: Search;
}

/**
 * The columns of a list of apps; shares are those of all of them, hidden ones included. `requests`
 * is made once, outside of components.
 */
export function useAppColumns(apps: readonly AppRow[], requests: AppRequests): readonly Column<AppRow>[] {
  const { t } = useTranslation('apps');
  const format = useFormat();
  return useMemo((): readonly Column<AppRow>[] => {
    const total = apps.reduce((sum, { sums }) => sum + parseMicro(sums.cost_micro), 0n);
    const share = (row: AppRow): number | null => (total === 0n ? null : shareOf(row.sums.cost_micro, total));
    return [
      {
        id: 'name',
        header: t('column.name'),
        cell: (row) => <NameCell row={row} />,
        value: (row) => (row.id === noAppId ? t('noApp') : row.name),
        isTitle: true,
      },
      {
        id: 'recognised',
        header: t('column.recognised'),
        cell: (row) => t(`recognised.${row.recognised_by}`),
        value: (row) => t(`recognised.${row.recognised_by}`),
        isWideOnly: true,
      },
      {
        id: 'models',
        header: t('column.models'),
        cell: (row) => <Models row={row} />,
        value: (row) => row.models.join(' '),
        isWideOnly: true,
      },
      {
        id: 'requests',
        header: t('column.requests'),
        kind: 'number',
        cell: (row) => (
          <Link
            to={requests.to}
            search={(before) => ({ ...before, ...requests.search, app: String(row.id) })}
            className="hover:underline"
          >
            {format.count(row.sums.requests)}
          </Link>
        ),
        value: (row) => row.sums.requests,
      },
      {
        id: 'tokens',
        header: t('column.tokens'),
        kind: 'number',
        cell: (row) => format.count(row.sums.prompt_tokens + row.sums.completion_tokens),
        value: (row) => row.sums.prompt_tokens + row.sums.completion_tokens,
      },
      {
        id: 'share',
        header: t('column.share'),
        kind: 'number',
        cell: (row) => {
          const part = share(row);
          return part === null ? <None /> : format.percent(part);
        },
        value: share,
      },
      {
        id: 'cost',
        header: t('column.cost'),
        kind: 'money',
        cell: (row) => <Money micro={row.sums.cost_micro} maxDecimals={2} />,
        value: (row) => parseMicro(row.sums.cost_micro),
        isMainFigure: true,
      },
      {
        id: 'firstSeen',
        header: t('column.firstSeen'),
        kind: 'time',
        cell: (row) => <Time at={row.first_seen_at} style="date" />,
        value: (row) => (row.first_seen_at === null ? null : Date.parse(row.first_seen_at)),
        isHiddenByDefault: true,
      },
      {
        id: 'lastSeen',
        header: t('column.lastSeen'),
        cell: (row) => row.last_seen_on ?? <None />,
        value: (row) => row.last_seen_on,
      },
    ];
  }, [apps, requests, format, t]);
}

function NameCell({ row }: { row: AppRow }) {
  const { t } = useTranslation('apps');
  if (row.id === noAppId) return <span className="text-muted">{t('noApp')}</span>;
  return (
    <span className="flex max-w-72 min-w-0 flex-col py-1">
      <span className="flex min-w-0 items-center gap-1.5">
        <span className="truncate font-medium" title={row.name}>
          {row.name}
        </span>
        {row.is_hidden ? <Badge>{t('hidden')}</Badge> : null}
        {row.merged.length === 0 ? null : <Badge>{t('mergedCount', { count: row.merged.length })}</Badge>}
      </span>
      {row.url === null ? null : (
        <span className="truncate text-xs text-muted" title={row.url}>
          {row.url}
        </span>
      )}
    </span>
  );
}

function Models({ row: { models, model_count: count } }: { row: AppRow }) {
  const { t } = useTranslation('apps');
  const [first] = models;
  if (first === undefined) return <None />;
  return (
    <span className="block max-w-56 truncate" title={models.join('\n')}>
      {count === 1 ? first : t('modelsAndMore', { model: first, count: count - 1 })}
    </span>
  );
}
