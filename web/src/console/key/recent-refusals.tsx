import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from '../../app/link.tsx';
import { Section } from '../../app/page.tsx';
import { PagedTable } from '../../app/paged-table.tsx';
import { type ItemOf, usePages } from '../../app/use-pages.ts';
import { CopyableId } from '../../ui/copy.tsx';
import { None, Time } from '../../ui/figures.tsx';
import { EmptyState } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import type { ConsoleKey } from '../key-list/data.ts';

type Failed = ItemOf<'GET /console/api/accounts/{account}/generations'>;

const refreshMs = 3_000;

/** The last requests with this key that failed or were refused, as they were recorded; each leads to its page. */
export function RecentRefusals({ row }: { row: ConsoleKey }) {
  const { t } = useTranslation('console-keys');
  const pages = usePages(
    'GET /console/api/accounts/{account}/generations',
    {
      params: { account: String(row.account_id) },
      query: { key: row.hash, outcome: 'failed', limit: 20 },
    },
    { refetchMs: refreshMs },
  );
  const columns = useMemo(
    (): readonly Column<Failed>[] => [
      {
        id: 'time',
        header: t('failed.time'),
        kind: 'time',
        cell: (one) => <Time at={one.created_at} style="second" />,
        value: (one) => Date.parse(one.created_at),
        isTitle: true,
      },
      {
        id: 'error',
        header: t('failed.error'),
        cell: (one) => (
          <span className="font-mono text-xs">
            {one.status} {one.error_type}
          </span>
        ),
        value: (one) => `${one.status} ${one.error_type ?? ''}`,
        isMainFigure: true,
      },
      {
        id: 'times',
        header: t('failed.times'),
        kind: 'number',
        cell: (one) => one.refusals ?? 1,
        value: (one) => one.refusals ?? 1,
      },
      {
        id: 'model',
        header: t('failed.model'),
        cell: (one) => one.model ?? one.asked_model ?? <None />,
        value: (one) => one.model ?? one.asked_model,
      },
      {
        id: 'id',
        header: t('failed.id'),
        cell: (one) => <CopyableId id={one.id} label={t('failed.id')} />,
        value: (one) => one.id,
        isWideOnly: true,
      },
    ],
    [t],
  );
  return (
    <Section title={t('failed.title')} note={t('failed.note')}>
      <PagedTable
        id="key-refusals"
        label={t('failed.title')}
        columns={columns}
        pages={pages}
        rowId={({ id }) => id}
        link={({ id }, props) => <Link to={`/accounts/${row.account_id}/requests/${id}`} {...props} />}
        empty={<EmptyState title={t('failed.empty')} />}
      />
    </Section>
  );
}
