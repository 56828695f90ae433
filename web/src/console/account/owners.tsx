import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../../api/client.ts';
import { readQuery } from '../../api/query.ts';
import { ActionButton } from '../../app/permission.tsx';
import { ReadError } from '../../app/read-error.tsx';
import { Status } from '../../ui/badge.tsx';
import { None, Time } from '../../ui/figures.tsx';
import { EmptyState } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';
import { Invite } from './invite.tsx';

type Owner = ResponseOf<'GET /console/api/accounts/{id}/owners'>['items'][number];

/** Who signs in for an account, and invitations. */
export function Owners({ id }: { id: string }) {
  const { t } = useTranslation('account');
  const [isInviting, setIsInviting] = useState(false);
  const owners = useQuery(readQuery('GET /console/api/accounts/{id}/owners', { params: { id } }));
  const columns = useColumns();
  return (
    <>
      <DataTable
        id="owners"
        label={t('tab.owners')}
        columns={columns}
        rows={owners.data?.items}
        rowId={(row) => String(row.id)}
        tools={
          <ActionButton needs="admin" icon="plus" onClick={() => setIsInviting(true)}>
            {t('invite')}
          </ActionButton>
        }
        empty={
          <EmptyState icon="user" title={t('noOwners')}>
            {t('noOwnersText')}
          </EmptyState>
        }
        error={owners.isError && owners.data === undefined ? <ReadError of={owners} /> : null}
      />
      {isInviting ? <Invite id={id} onClose={() => setIsInviting(false)} /> : null}
    </>
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
