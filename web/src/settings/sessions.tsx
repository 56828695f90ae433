import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { change, type ResponseOf } from '../api/client.ts';
import { wordsOfError } from '../api/errors.ts';
import { readQuery } from '../api/query.ts';
import { useApp } from '../app/area.ts';
import type { Area } from '../app/pages.ts';
import { ReadError } from '../app/read-error.tsx';
import { useLanguage } from '../i18n/use-format.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { RelativeTime, Time } from '../ui/figures.tsx';
import type { Column } from '../ui/table/column.ts';
import { DataTable } from '../ui/table/data-table.tsx';
import { showToast } from '../ui/toast.tsx';
import { deviceOf } from './device.ts';

/** A signed-in browser. */
export type Session = ResponseOf<'GET /dashboard/api/sessions'>['items'][number];

const queryOf = (area: Area) => readQuery(`GET /${area}/api/sessions` as const, {});
const refreshMs = 10_000;

/** The open sessions of the person, where they are and how old, and the end of each. */
export function Sessions() {
  const { t } = useTranslation('settings');
  const { area } = useApp();
  // The page of a session that was ended elsewhere learns it by this.
  const sessions = useQuery({ ...queryOf(area), refetchInterval: refreshMs });
  const columns = useSessionColumns(endOwn);
  return (
    <DataTable
      id="sessions"
      label={t('sessions')}
      columns={columns}
      rows={sessions.data?.items}
      rowId={({ id }) => id}
      error={sessions.isError && sessions.data === undefined ? <ReadError of={sessions} /> : null}
    />
  );
}

/** Ends every session but this one. */
export function EndOthers() {
  const { t } = useTranslation('settings');
  const language = useLanguage();
  const queries = useQueryClient();
  const { area } = useApp();
  const query = queryOf(area);
  const { data } = useQuery(query);
  const ending = useMutation({
    mutationFn: () => change(`POST /${area}/api/sessions/revoke-others` as const, {}),
    onSuccess: ({ revoked }) => showToast({ tone: 'good', text: t('endedOthers', { count: revoked }) }),
    onError: (error) => showToast({ tone: 'bad', text: wordsOfError(error, language, t) }),
    onSettled: () => queries.invalidateQueries({ queryKey: query.queryKey }),
  });
  if (data === undefined || data.items.length < 2) return null;
  return (
    <Button size="sm" isBusy={ending.isPending} onClick={() => ending.mutate()}>
      {t('endOthers')}
    </Button>
  );
}

function EndSession({ session }: { session: Session }) {
  const { t } = useTranslation('settings');
  const language = useLanguage();
  const queries = useQueryClient();
  const { area } = useApp();
  const ending = useMutation({
    mutationFn: () => change(`DELETE /${area}/api/sessions/{id}` as const, { params: { id: session.id } }),
    onError: (error) => showToast({ tone: 'bad', text: wordsOfError(error, language, t) }),
    onSettled: () => queries.invalidateQueries({ queryKey: queryOf(area).queryKey }),
  });
  return (
    <Button
      size="sm"
      variant="quiet"
      aria-label={t('endOf', { device: deviceOf(session.user_agent), address: session.address })}
      isBusy={ending.isPending}
      onClick={() => ending.mutate()}
    >
      {t('end')}
    </Button>
  );
}

const endOwn = (session: Session): ReactNode => <EndSession session={session} />;

/** The columns of sessions; `end` ends one that is not the own. */
export function useSessionColumns<Row extends Session>(
  end: (session: Row) => ReactNode,
): readonly Column<Row>[] {
  const { t } = useTranslation('settings');
  return useMemo(
    (): readonly Column<Row>[] => [
      {
        id: 'device',
        header: t('column.device'),
        cell: (row) => (
          <span className="inline-flex flex-wrap items-center gap-2" title={row.user_agent}>
            {deviceOf(row.user_agent)}
            {row.is_current ? <Badge tone="accent">{t('thisSession')}</Badge> : null}
            {row.is_of_account ? <Badge>{t('ofAccount')}</Badge> : null}
          </span>
        ),
        value: (row) => row.user_agent,
        isTitle: true,
      },
      {
        id: 'via',
        header: t('column.via'),
        cell: (row) => t(`via.${row.via}`, { defaultValue: row.via }),
        value: (row) => row.via,
      },
      { id: 'address', header: t('column.address'), cell: (row) => row.address, value: (row) => row.address },
      {
        id: 'created',
        header: t('column.created'),
        kind: 'time',
        cell: (row) => <Time at={row.created_at} />,
        value: (row) => Date.parse(row.created_at),
      },
      {
        id: 'seen',
        header: t('column.seen'),
        kind: 'time',
        cell: (row) => <RelativeTime at={row.last_seen_at} />,
        value: (row) => Date.parse(row.last_seen_at),
      },
      {
        id: 'expires',
        header: t('column.expires'),
        kind: 'time',
        cell: (row) => <Time at={row.expires_at} />,
        value: (row) => Date.parse(row.expires_at),
        isHiddenByDefault: true,
      },
      {
        id: 'actions',
        header: t('column.actions'),
        kind: 'actions',
        cell: (row) => (row.is_current ? null : end(row)),
      },
    ],
    [end, t],
  );
}
