import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../../api/client.ts';
import { readQuery } from '../../api/query.ts';
import { Page as Frame, Section } from '../../app/page.tsx';
import { ActionButton, useRefusal } from '../../app/permission.tsx';
import { ReadError } from '../../app/read-error.tsx';
import { Time } from '../../ui/figures.tsx';
import { EmptyState } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';
import { OpenSessions } from '../open-sessions.tsx';
import { AddOperator, AddToken, ChangeRole, NewLink, RemoveOperator, RevokeToken } from './acts.tsx';

type Operator = ResponseOf<'GET /console/api/operators'>['items'][number];
type Token = ResponseOf<'GET /console/api/operator-tokens'>['items'][number];

const forms = { role: ChangeRole, link: NewLink, remove: RemoveOperator } as const;

/** Who may use the console: people, and machines with tokens. */
export function Page() {
  const { t } = useTranslation('operators');
  const refusal = useRefusal('admin');
  return (
    <Frame title={t('title')}>
      <Operators />
      <Section title={t('tokens')} note={t('tokensNote')}>
        {refusal === null ? <Tokens /> : <p className="text-sm text-muted">{refusal}</p>}
      </Section>
      <OpenSessions />
    </Frame>
  );
}

function Operators() {
  const { t } = useTranslation('operators');
  const read = useQuery(readQuery('GET /console/api/operators', {}));
  const [isAdding, setIsAdding] = useState(false);
  const [open, setOpen] = useState<{ readonly act: keyof typeof forms; readonly row: Operator } | null>(null);
  const columns = useMemo(
    (): readonly Column<Operator>[] => [
      ...commonColumns<Operator>(t),
      {
        id: 'actions',
        header: t('column.actions'),
        kind: 'actions',
        cell: (row) => (
          <span className="flex justify-end gap-1 max-md:flex-wrap">
            {(['link', 'role', 'remove'] as const).map((act) => (
              <ActionButton
                key={act}
                size="sm"
                variant="quiet"
                needs="admin"
                onClick={() => setOpen({ act, row })}
              >
                {t(act)}
              </ActionButton>
            ))}
          </span>
        ),
      },
    ],
    [t],
  );
  const Form = open === null ? null : forms[open.act];
  return (
    <>
      <DataTable
        id="operators"
        label={t('title')}
        columns={columns}
        rows={read.data?.items}
        rowId={({ id }) => id}
        tools={
          <ActionButton needs="admin" variant="primary" icon="plus" onClick={() => setIsAdding(true)}>
            {t('add')}
          </ActionButton>
        }
        empty={<EmptyState icon="users" title={t('noOperators')} />}
        error={read.isError && read.data === undefined ? <ReadError of={read} /> : null}
      />
      {isAdding ? <AddOperator onClose={() => setIsAdding(false)} /> : null}
      {Form === null || open === null ? null : <Form row={open.row} onClose={() => setOpen(null)} />}
    </>
  );
}

function Tokens() {
  const { t } = useTranslation('operators');
  const read = useQuery(readQuery('GET /console/api/operator-tokens', {}));
  const [isAdding, setIsAdding] = useState(false);
  const [revoked, setRevoked] = useState<Token | null>(null);
  const columns = useMemo(
    (): readonly Column<Token>[] => [
      ...commonColumns<Token>(t),
      {
        id: 'expires',
        header: t('column.expires'),
        kind: 'time',
        cell: (row) => <Time at={row.expires_at} />,
        value: (row) => Date.parse(row.expires_at),
        isMainFigure: true,
      },
      {
        id: 'actions',
        header: t('column.actions'),
        kind: 'actions',
        cell: (row) => (
          <ActionButton size="sm" variant="quiet" needs="admin" onClick={() => setRevoked(row)}>
            {t('revoke')}
          </ActionButton>
        ),
      },
    ],
    [t],
  );
  return (
    <>
      <DataTable
        id="operator-tokens"
        label={t('tokens')}
        columns={columns}
        rows={read.data?.items}
        rowId={({ name }) => name}
        tools={
          <ActionButton needs="admin" icon="plus" onClick={() => setIsAdding(true)}>
            {t('addToken')}
          </ActionButton>
        }
        empty={<EmptyState icon="key" title={t('noTokens')} />}
        error={read.isError && read.data === undefined ? <ReadError of={read} /> : null}
      />
      {isAdding ? <AddToken onClose={() => setIsAdding(false)} /> : null}
      {revoked === null ? null : <RevokeToken row={revoked} onClose={() => setRevoked(null)} />}
    </>
  );
}

function commonColumns<Row extends Pick<Token, 'name' | 'role' | 'created_at'>>(
  t: (key: string) => string,
): readonly Column<Row>[] {
  return [
    {
      id: 'name',
      header: t('column.name'),
      cell: (row) => row.name,
      value: (row) => row.name,
      isTitle: true,
    },
    {
      id: 'role',
      header: t('column.role'),
      cell: (row) => t(`common:role.${row.role}`),
      value: (row) => row.role,
    },
    {
      id: 'created',
      header: t('column.created'),
      kind: 'time',
      cell: (row) => <Time at={row.created_at} style="date" />,
      value: (row) => Date.parse(row.created_at),
    },
  ];
}
