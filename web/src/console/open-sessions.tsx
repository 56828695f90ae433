import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change, type ResponseOf } from '../api/client.ts';
import { readQuery } from '../api/query.ts';
import { Section } from '../app/page.tsx';
import { ActionButton, useRefusal } from '../app/permission.tsx';
import { ReadError } from '../app/read-error.tsx';
import { deviceOf } from '../settings/device.ts';
import { useSessionColumns } from '../settings/sessions.tsx';
import { EmptyState } from '../ui/states.tsx';
import type { Column } from '../ui/table/column.ts';
import { DataTable } from '../ui/table/data-table.tsx';
import { ActDialog } from './acts/act-dialog.tsx';

type OpenSession = ResponseOf<'GET /console/api/open-sessions'>['items'][number];

/** The open sessions of all operators, or of an account; an administrator ends one or all. */
export function OpenSessions({ account }: { account?: string }) {
  const { t } = useTranslation('settings');
  const refusal = useRefusal('admin');
  return (
    <Section title={t('openSessions')}>
      {refusal === null ? (
        <List {...(account === undefined ? {} : { account })} />
      ) : (
        <p className="text-sm text-muted">{refusal}</p>
      )}
    </Section>
  );
}

function List({ account }: { account?: string }) {
  const { t } = useTranslation('settings');
  const [ended, setEnded] = useState<OpenSession | 'all' | null>(null);
  const query = account === undefined ? {} : { account };
  const read = useQuery({
    ...readQuery('GET /console/api/open-sessions', { query }),
    refetchInterval: 10_000,
  });
  const rows = read.data?.items;
  const end = useMemo(
    () =>
      (row: OpenSession): ReactNode => (
        <ActionButton size="sm" variant="quiet" needs="admin" onClick={() => setEnded(row)}>
          {t('end')}
        </ActionButton>
      ),
    [t],
  );
  const shared = useSessionColumns(end);
  const columns = useMemo(
    (): readonly Column<OpenSession>[] =>
      account === undefined
        ? [
            {
              id: 'operator',
              header: t('column.operator'),
              cell: (row) => row.operator,
              value: (row) => row.operator,
              isTitle: true,
            },
            ...shared.map((column) => ({ ...column, isTitle: false })),
          ]
        : shared,
    [account, shared, t],
  );
  return (
    <>
      <DataTable
        id="open-sessions"
        label={t('openSessions')}
        columns={columns}
        rows={rows}
        rowId={({ id }) => id}
        tools={
          rows?.some((row) => !row.is_current) ? (
            <ActionButton needs="admin" onClick={() => setEnded('all')}>
              {t(account === undefined ? 'endOthers' : 'endAll')}
            </ActionButton>
          ) : null
        }
        empty={<EmptyState title={t('noSessions')} />}
        error={read.isError && read.data === undefined ? <ReadError of={read} /> : null}
      />
      {ended === null ? null : (
        <ActDialog
          title={
            ended === 'all'
              ? t('endAllTitle')
              : t('endTitle', { device: deviceOf(ended.user_agent), address: ended.address })
          }
          confirmText={t('end')}
          isDangerous
          values={[ended === 'all' ? '' : ended.id]}
          isValid
          act={(changeKey) =>
            change(
              'POST /console/api/open-sessions/end',
              {
                body: {
                  ...(account === undefined ? {} : { account: Number(account) }),
                  ...(ended === 'all' ? {} : { session: ended.id }),
                },
              },
              changeKey,
            )
          }
          done={t('ended')}
          onClose={() => setEnded(null)}
        >
          <p className="text-sm">{t('endText')}</p>
        </ActDialog>
      )}
    </>
  );
}
