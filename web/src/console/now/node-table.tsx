import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../../api/client.ts';
import { readQuery } from '../../api/query.ts';
import { Section } from '../../app/page.tsx';
import { ReadError } from '../../app/read-error.tsx';
import { Status } from '../../ui/badge.tsx';
import { CopyableId } from '../../ui/copy.tsx';
import { Duration, Time } from '../../ui/figures.tsx';
import { EmptyState } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';

type Node = ResponseOf<'GET /console/api/nodes'>['items'][number];

const refreshMs = 2_000;

/** The nodes of the database, lost ones included. */
export function NodeTable() {
  const { t } = useTranslation('now');
  const nodes = useQuery({ ...readQuery('GET /console/api/nodes', {}), refetchInterval: refreshMs });
  const columns = useColumns();
  return (
    <Section title={t('nodes')} note={t('nodesNote')}>
      <DataTable
        id="nodes"
        isPlain
        label={t('nodes')}
        columns={columns}
        rows={nodes.data?.items}
        rowId={({ id }) => String(id)}
        empty={<EmptyState icon="server" title={t('nothing')} />}
        error={nodes.isError && nodes.data === undefined ? <ReadError of={nodes} /> : null}
      />
    </Section>
  );
}

function useColumns(): readonly Column<Node>[] {
  const { t } = useTranslation('now');
  return useMemo(
    (): readonly Column<Node>[] => [
      {
        id: 'address',
        header: t('column.address'),
        cell: ({ address }) => <span className="font-mono text-xs">{address}</span>,
        value: ({ address }) => address,
        isTitle: true,
      },
      {
        id: 'state',
        header: t('column.state'),
        kind: 'state',
        cell: ({ is_live: isLive }) => (
          <Status tone={isLive ? 'good' : 'bad'}>{t(isLive ? 'node.live' : 'node.lost')}</Status>
        ),
        value: ({ is_live: isLive }) => isLive,
        isMainFigure: true,
      },
      {
        id: 'node',
        header: t('column.node'),
        kind: 'number',
        cell: ({ id }) => id,
        value: ({ id }) => id,
      },
      {
        id: 'started',
        header: t('column.started'),
        kind: 'time',
        cell: (node) => <Time at={Date.parse(node.started_at)} style="second" />,
        value: (node) => Date.parse(node.started_at),
      },
      {
        id: 'seen',
        header: t('column.seen'),
        kind: 'number',
        unit: 'ms',
        cell: (node) => <Duration ms={node.silent_ms} />,
        value: (node) => node.silent_ms,
      },
      {
        id: 'home',
        header: t('column.home'),
        cell: ({ home }) => <CopyableId id={home} label={t('column.home')} />,
        value: ({ home }) => home,
        isWideOnly: true,
      },
    ],
    [t],
  );
}
