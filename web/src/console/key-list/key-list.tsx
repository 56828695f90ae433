import { type ReactNode, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from '../../app/link.tsx';
import { PagedTable } from '../../app/paged-table.tsx';
import { ActionButton } from '../../app/permission.tsx';
import { usePages } from '../../app/use-pages.ts';
import { parseMicro } from '../../format/money.ts';
import { RestrictedMark } from '../../keys/restrictions.tsx';
import { standingTones } from '../../keys/standing.ts';
import { Status } from '../../ui/badge.tsx';
import { LimitMeter, Money, None, Time } from '../../ui/figures.tsx';
import type { Column } from '../../ui/table/column.ts';
import { AccountLink } from '../account-link.tsx';
import type { ConsoleKey } from './data.ts';
import { KeySuspension } from './key-suspension.tsx';

export interface KeyListProps {
  readonly query: Readonly<Record<string, string>>;
  /** The keys of one account: without the column of the account. */
  readonly isOfOneAccount?: boolean;
  readonly tools?: ReactNode;
  readonly empty: ReactNode;
}

/** Keys of all accounts or of one, each with what refuses its calls now. */
export function KeyList({ query, isOfOneAccount = false, tools, empty }: KeyListProps) {
  const { t } = useTranslation('console-keys');
  const pages = usePages('GET /console/api/keys', { query });
  const [changing, setChanging] = useState<ConsoleKey | null>(null);
  const columns = useColumns(isOfOneAccount, setChanging);
  return (
    <>
      <PagedTable
        id={isOfOneAccount ? 'account-keys' : 'console-keys'}
        label={t('title')}
        columns={columns}
        pages={pages}
        rowId={({ hash }) => hash}
        tools={tools}
        empty={empty}
      />
      {changing === null ? null : <KeySuspension row={changing} onClose={() => setChanging(null)} />}
    </>
  );
}

function useColumns(
  isOfOneAccount: boolean,
  onChange: (row: ConsoleKey) => void,
): readonly Column<ConsoleKey>[] {
  const { t } = useTranslation('console-keys');
  return useMemo((): readonly Column<ConsoleKey>[] => {
    const account: Column<ConsoleKey> = {
      id: 'account',
      header: t('column.account'),
      cell: (row) => <AccountLink id={row.account_id} name={row.account_name} />,
      value: (row) => `${row.account_name} #${row.account_id}`,
    };
    return [
      {
        id: 'name',
        header: t('column.key'),
        cell: (row) => (
          <Link to={`/keys/${row.hash}`} className="block min-w-0 hover:underline">
            <span className="flex items-center gap-1.5">
              <span className="truncate font-medium">{row.name}</span>
              <RestrictedMark row={row} />
            </span>
            <span className="block truncate font-mono text-xs text-muted">{row.label}</span>
          </Link>
        ),
        value: (row) => `${row.name} ${row.label}`,
        isTitle: true,
      },
      ...(isOfOneAccount ? [] : [account]),
      {
        id: 'standing',
        header: t('column.standing'),
        kind: 'state',
        cell: (row) => (
          <Status tone={standingTones[row.standing]}>{t(`keys:standing.${row.standing}`)}</Status>
        ),
        value: (row) => row.standing,
      },
      {
        id: 'refused',
        header: t('column.refused'),
        cell: ({ refusals: [first] }) =>
          first === undefined ? (
            <None />
          ) : (
            <span className="whitespace-nowrap">
              {first.status} <span className="font-mono text-xs">{first.type}</span>
            </span>
          ),
        value: ({ refusals: [first] }) => first?.type ?? null,
      },
      {
        id: 'limit',
        header: t('column.limit'),
        kind: 'money',
        isMeter: true,
        cell: (row) => (
          <LimitMeter
            used={row.limit_used_micro}
            limit={row.limit_micro}
            label={t('limitOf', { name: row.name })}
          />
        ),
        value: (row) => (row.limit_micro === null ? null : parseMicro(row.limit_micro)),
        isWideOnly: true,
      },
      {
        id: 'spend',
        header: t('column.spend'),
        kind: 'money',
        cell: (row) => <Money micro={row.usage_monthly_micro} maxDecimals={2} />,
        value: (row) => parseMicro(row.usage_monthly_micro),
        isMainFigure: true,
      },
      {
        id: 'lastUsed',
        header: t('column.lastUsed'),
        cell: (row) =>
          row.last_used_on === null ? (
            <None />
          ) : (
            <Link
              to={`/accounts/${row.account_id}`}
              search={{ tab: 'requests', key: row.hash }}
              className="hover:underline"
            >
              {row.last_used_on}
            </Link>
          ),
        value: (row) => row.last_used_on,
      },
      {
        id: 'kind',
        header: t('column.kind'),
        cell: (row) => t(`kind.${row.kind}`),
        value: (row) => row.kind,
        isHiddenByDefault: true,
      },
      {
        id: 'created',
        header: t('column.created'),
        kind: 'time',
        cell: (row) => <Time at={row.created_at} style="date" />,
        value: (row) => Date.parse(row.created_at),
        isHiddenByDefault: true,
      },
      {
        id: 'actions',
        header: t('column.actions'),
        kind: 'actions',
        cell: (row) =>
          row.standing === 'revoked' ? null : (
            <ActionButton size="sm" variant="quiet" needs="support" onClick={() => onChange(row)}>
              {t(row.suspended_itself ? 'lift' : 'suspend')}
            </ActionButton>
          ),
      },
    ];
  }, [isOfOneAccount, onChange, t]);
}
