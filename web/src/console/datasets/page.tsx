import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change, type ResponseOf } from '../../api/client.ts';
import { readQuery } from '../../api/query.ts';
import { Page as Frame, Section } from '../../app/page.tsx';
import { ActionButton } from '../../app/permission.tsx';
import { QueryAge } from '../../app/queries-age.tsx';
import { ReadError } from '../../app/read-error.tsx';
import { useFormat } from '../../i18n/use-format.ts';
import { Badge, Status } from '../../ui/badge.tsx';
import { Figure, FigureRow, None, RelativeTime, Time } from '../../ui/figures.tsx';
import { Banner, EmptyState, SkeletonLines } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';
import { ActDialog } from '../acts/act-dialog.tsx';

type Datasets = ResponseOf<'GET /console/api/datasets'>;
type Dataset = Datasets['items'][number];

const refreshMs = 5_000;

/** A10: the datasets, where they come from, and synchronising them now. */
export function Page() {
  const { t } = useTranslation('datasets');
  const [isStarting, setIsStarting] = useState<Dataset['dataset'] | 'all' | null>(null);
  const datasets = useQuery({
    ...readQuery('GET /console/api/datasets', {}),
    refetchInterval: refreshMs,
  });
  const columns = useColumns(setIsStarting, datasets.data?.has_key === true);
  return (
    <Frame
      title={t('title')}
      aside={<QueryAge of={datasets} />}
      actions={
        datasets.data?.has_key === true ? (
          <ActionButton needs="admin" icon="refresh" onClick={() => setIsStarting('all')}>
            {t('syncAll')}
          </ActionButton>
        ) : null
      }
    >
      {datasets.data === undefined ? (
        datasets.isError ? (
          <ReadError of={datasets} />
        ) : (
          <SkeletonLines lines={4} />
        )
      ) : (
        <>
          {datasets.data.has_key ? null : <Banner tone="warn">{t('noKey')}</Banner>}
          <Source datasets={datasets.data} />
          <Section title={t('list')}>
            <DataTable
              id="datasets"
              isPlain
              label={t('list')}
              columns={columns}
              rows={datasets.data.items}
              rowId={({ dataset }) => dataset}
              empty={<EmptyState title={t('list')} />}
            />
          </Section>
        </>
      )}
      {isStarting === null ? null : (
        <ActDialog
          title={t('syncTitle')}
          description={t('syncText')}
          confirmText={t('syncNow')}
          values={[isStarting]}
          isValid
          act={(changeKey) =>
            change(
              'POST /console/api/datasets/sync',
              { body: isStarting === 'all' ? {} : { dataset: isStarting } },
              changeKey,
            )
          }
          done={t('started')}
          onClose={() => setIsStarting(null)}
        >
          <p className="text-sm">{isStarting === 'all' ? t('all') : t(`dataset.${isStarting}`)}</p>
        </ActDialog>
      )}
    </Frame>
  );
}

function Source({ datasets }: { datasets: Datasets }) {
  const { t } = useTranslation('datasets');
  const format = useFormat();
  const { calls_today: today, calls_max: max, last_call_at: last } = datasets;
  return (
    <FigureRow>
      <Figure isMain label={t('calls')} note={t('callsNote')}>
        {format.count(today)} <span className="text-base text-muted">/ {format.count(max)}</span>
      </Figure>
      <Figure label={t('lastCall')}>
        {last === null ? <None /> : <RelativeTime at={Date.parse(last)} />}
      </Figure>
      <Figure label={t('samples')} note={t('samplesNote')}>
        {t(datasets.samples ? 'on' : 'off')}
      </Figure>
      <Figure isLong label={t('source')}>
        <span className="block font-mono text-sm font-normal wrap-anywhere">{datasets.source}</span>
      </Figure>
    </FigureRow>
  );
}

function useColumns(
  onSync: (dataset: Dataset['dataset']) => void,
  hasKey: boolean,
): readonly Column<Dataset>[] {
  const { t } = useTranslation('datasets');
  const format = useFormat();
  return useMemo(
    (): readonly Column<Dataset>[] => [
      {
        id: 'dataset',
        header: t('column.dataset'),
        cell: ({ dataset }) => t(`dataset.${dataset}`),
        value: ({ dataset }) => dataset,
        isTitle: true,
      },
      {
        id: 'serves',
        header: t('column.serves'),
        cell: ({ serves }) => (
          <Badge tone={serves === 'synced' ? 'good' : serves === 'samples' ? 'warn' : 'neutral'}>
            {t(`serves.${serves}`)}
          </Badge>
        ),
        value: ({ serves }) => serves,
      },
      {
        id: 'rows',
        header: t('column.rows'),
        kind: 'number',
        cell: ({ rows }) => format.count(rows),
        value: ({ rows }) => rows,
        isMainFigure: true,
      },
      {
        id: 'synced',
        header: t('column.synced'),
        kind: 'time',
        cell: (row) => <Time at={row.synced_at === null ? null : Date.parse(row.synced_at)} />,
        value: (row) => (row.synced_at === null ? null : Date.parse(row.synced_at)),
      },
      {
        id: 'failures',
        header: t('column.failures'),
        kind: 'number',
        cell: ({ failures }) =>
          failures === 0 ? format.count(0) : <Status tone="bad">{format.count(failures)}</Status>,
        value: ({ failures }) => failures,
      },
      {
        id: 'fault',
        header: t('column.fault'),
        cell: ({ fault }) => {
          if (fault === null) return <None />;
          const [, path, status] = /^(\S+): the source responded with (\d+)/.exec(fault) ?? [];
          return status === undefined ? <span lang="en">{fault}</span> : t('sourceStatus', { path, status });
        },
        value: ({ fault }) => fault,
      },
      {
        id: 'next',
        header: t('column.next'),
        kind: 'time',
        cell: (row) => <Time at={row.next_at === null ? null : Date.parse(row.next_at)} />,
        value: (row) => (row.next_at === null ? null : Date.parse(row.next_at)),
      },
      {
        id: 'actions',
        header: t('column.actions'),
        kind: 'actions',
        cell: ({ dataset }) =>
          hasKey ? (
            <ActionButton needs="admin" size="sm" onClick={() => onSync(dataset)}>
              {t('sync')}
            </ActionButton>
          ) : null,
      },
    ],
    [hasKey, onSync, format, t],
  );
}
