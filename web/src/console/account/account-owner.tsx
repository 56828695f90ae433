import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../../api/client.ts';
import { readQuery } from '../../api/query.ts';
import { Section } from '../../app/page.tsx';
import { ActionButton } from '../../app/permission.tsx';
import { ReadError } from '../../app/read-error.tsx';
import { Status } from '../../ui/badge.tsx';
import { None, Time } from '../../ui/figures.tsx';
import { EmptyState } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';
import { OpenSessions } from '../open-sessions.tsx';
import { Invite } from './invite.tsx';
import { ReplaceOwner } from './replace-owner.tsx';

type Owner = NonNullable<ResponseOf<'GET /console/api/accounts/{id}/owner'>['owner']>;

/** Who signs in for an account: invited, sent a link that resets the password, or replaced. */
export function AccountOwner({ id }: { id: string }) {
  const { t } = useTranslation('account');
  const [open, setOpen] = useState<'invite' | 'replace' | null>(null);
  const read = useQuery(readQuery('GET /console/api/accounts/{id}/owner', { params: { id } }));
  const columns = useColumns();
  const owner = read.data?.owner;
  const rows = useMemo(() => (owner === undefined ? undefined : owner === null ? [] : [owner]), [owner]);
  const close = (): void => setOpen(null);
  return (
    <div className="flex flex-col gap-8">
      <Section
        title={t('tab.owners')}
        actions={
          <>
            <ActionButton needs="admin" onClick={() => setOpen('invite')}>
              {t(owner == null ? 'invite' : 'reset')}
            </ActionButton>
            {owner == null ? null : (
              <ActionButton needs="admin" onClick={() => setOpen('replace')}>
                {t('replace')}
              </ActionButton>
            )}
          </>
        }
      >
        <DataTable
          id="owner"
          isPlain
          label={t('tab.owners')}
          columns={columns}
          rows={rows}
          rowId={(row) => String(row.id)}
          empty={
            <EmptyState icon="user" title={t('noOwners')}>
              {t('noOwnersText')}
            </EmptyState>
          }
          error={read.isError && read.data === undefined ? <ReadError of={read} /> : null}
        />
      </Section>
      {open === 'invite' ? <Invite id={id} address={owner?.email ?? null} onClose={close} /> : null}
      {open === 'replace' ? <ReplaceOwner id={id} from={owner?.email ?? ''} onClose={close} /> : null}
      <OpenSessions account={id} />
    </div>
  );
}

function useColumns(): readonly Column<Owner>[] {
  const { t } = useTranslation('account');
  return useMemo(
    (): readonly Column<Owner>[] => [
      {
        id: 'email',
        header: t('accounts:column.email'),
        cell: (row) => row.email,
        value: (row) => row.email,
        isTitle: true,
      },
      {
        id: 'name',
        header: t('column.name'),
        cell: (row) => row.name ?? <None />,
        value: (row) => row.name,
      },
      {
        id: 'verified',
        header: t('column.verified'),
        kind: 'state',
        cell: (row) => (
          <Status tone={row.email_verified ? 'good' : 'warn'}>
            {t(row.email_verified ? 'verified' : 'notVerified')}
          </Status>
        ),
        value: (row) => row.email_verified,
      },
      {
        id: 'totp',
        header: t('column.totp'),
        cell: (row) => t(row.totp_enabled ? 'on' : 'off'),
        value: (row) => row.totp_enabled,
      },
      {
        id: 'created',
        header: t('accounts:column.created'),
        kind: 'time',
        cell: (row) => <Time at={row.created_at} style="date" />,
        value: (row) => Date.parse(row.created_at),
      },
    ],
    [t],
  );
}
