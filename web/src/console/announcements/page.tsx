import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Page as Frame } from '../../app/page.tsx';
import { PagedTable, PagesAge } from '../../app/paged-table.tsx';
import { ActionButton } from '../../app/permission.tsx';
import { usePages } from '../../app/use-pages.ts';
import { Status } from '../../ui/badge.tsx';
import { None, Time } from '../../ui/figures.tsx';
import { EmptyState } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { Announce } from './announce.tsx';
import type { Announcement } from './data.ts';
import { TakeBack } from './take-back.tsx';

const stateTones = { scheduled: 'warn', shown: 'good', ended: 'neutral' } as const;
const levelTones = { info: 'accent', warning: 'warn', critical: 'bad' } as const;

/** A12: what account owners see above every page of the dashboard. */
export function Page() {
  const { t } = useTranslation('announcements');
  const pages = usePages('GET /console/api/announcements', {});
  const [isMaking, setIsMaking] = useState(false);
  const [ending, setEnding] = useState<Announcement | null>(null);
  const columns = useColumns(setEnding);
  const make = (
    <ActionButton needs="admin" variant="primary" icon="plus" onClick={() => setIsMaking(true)}>
      {t('announce')}
    </ActionButton>
  );
  return (
    <Frame title={t('title')} aside={<PagesAge pages={pages} />} actions={make}>
      <PagedTable
        id="announcements"
        label={t('title')}
        columns={columns}
        pages={pages}
        rowId={({ id }) => String(id)}
        empty={<EmptyState title={t('empty.title')}>{t('empty.text')}</EmptyState>}
      />
      {isMaking ? <Announce onClose={() => setIsMaking(false)} /> : null}
      {ending === null ? null : <TakeBack row={ending} onClose={() => setEnding(null)} />}
    </Frame>
  );
}

function useColumns(onEnd: (row: Announcement) => void): readonly Column<Announcement>[] {
  const { t } = useTranslation('announcements');
  return useMemo(
    (): readonly Column<Announcement>[] => [
      {
        id: 'text',
        header: t('column.text'),
        cell: (row) => (
          <div className="max-w-110">
            <p>{row.text.ko}</p>
            <p className="text-xs text-muted">{row.text.en}</p>
          </div>
        ),
        value: (row) => `${row.text.ko} / ${row.text.en}`,
        isTitle: true,
      },
      {
        id: 'level',
        header: t('column.level'),
        kind: 'state',
        cell: (row) => <Status tone={levelTones[row.level]}>{t(`level.${row.level}`)}</Status>,
        value: (row) => row.level,
      },
      {
        id: 'state',
        header: t('column.state'),
        kind: 'state',
        cell: (row) => <Status tone={stateTones[row.state]}>{t(`state.${row.state}`)}</Status>,
        value: (row) => row.state,
        isMainFigure: true,
      },
      {
        id: 'from',
        header: t('column.from'),
        kind: 'time',
        cell: (row) => <Time at={row.from} />,
        value: (row) => Date.parse(row.from),
      },
      {
        id: 'to',
        header: t('column.to'),
        kind: 'time',
        cell: (row) => (row.to === null ? <None /> : <Time at={row.to} />),
        value: (row) => (row.to === null ? null : Date.parse(row.to)),
      },
      {
        id: 'by',
        header: t('column.by'),
        cell: (row) => row.created_by,
        value: (row) => row.created_by,
      },
      {
        id: 'actions',
        header: t('column.actions'),
        kind: 'actions',
        cell: (row) =>
          row.state === 'ended' ? null : (
            <ActionButton size="sm" variant="quiet" needs="admin" onClick={() => onEnd(row)}>
              {t('takeBack')}
            </ActionButton>
          ),
      },
    ],
    [onEnd, t],
  );
}
