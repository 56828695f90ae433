import { useEffect, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from '../../app/link.tsx';
import { Page as Frame } from '../../app/page.tsx';
import { PagedTable, PagesAge } from '../../app/paged-table.tsx';
import { ActionButton } from '../../app/permission.tsx';
import { oneOf, type SearchSchema, text, useSearchParams } from '../../app/search-params.ts';
import { type ItemOf, usePages } from '../../app/use-pages.ts';
import { parseMicro } from '../../format/money.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { standingTones } from '../../keys/standing.ts';
import { Status } from '../../ui/badge.tsx';
import { Input, Select } from '../../ui/field.tsx';
import { Money, None, Time } from '../../ui/figures.tsx';
import { EmptyState } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { NewAccount } from './new-account.tsx';

type Account = ItemOf<'GET /console/api/accounts'>;

const standings = ['', 'active', 'suspended_no_credit', 'suspended_by_admin', 'closed'] as const;
const schema: SearchSchema<{ search: string; standing: (typeof standings)[number] }> = {
  search: text(),
  standing: oneOf(standings, ''),
};
const searchPauseMs = 250;

/** A2: every account, found by name, address or id. */
export function Page() {
  const { t } = useTranslation('accounts');
  const [{ search, standing }, change] = useSearchParams(schema);
  const [typed, setTyped] = useState(search);
  const [isCreating, setIsCreating] = useState(false);
  const query = { ...(search === '' ? {} : { search }), ...(standing === '' ? {} : { standing }) };
  const pages = usePages('GET /console/api/accounts', { query });
  const columns = useColumns();
  useEffect(() => {
    const timer = setTimeout(
      () => (typed.trim() === search ? undefined : change({ search: typed.trim() })),
      searchPauseMs,
    );
    return () => clearTimeout(timer);
  }, [typed, search, change]);
  return (
    <Frame
      title={t('title')}
      aside={<PagesAge pages={pages} />}
      actions={
        <ActionButton needs="admin" variant="primary" icon="plus" onClick={() => setIsCreating(true)}>
          {t('create')}
        </ActionButton>
      }
    >
      {isCreating ? <NewAccount onClose={() => setIsCreating(false)} /> : null}
      <PagedTable
        id="accounts"
        label={t('title')}
        columns={columns}
        pages={pages}
        rowId={({ id }) => String(id)}
        link={({ id }, props) => <Link to={`/accounts/${id}`} {...props} />}
        tools={
          <>
            <div className="w-72 max-md:w-full">
              <Input
                type="search"
                aria-label={t('search')}
                placeholder={t('search')}
                value={typed}
                onChange={({ target }) => setTyped(target.value)}
              />
            </div>
            <Select
              aria-label={t('column.standing')}
              value={standing}
              onChange={({ target }) => change({ standing: target.value as typeof standing })}
              options={standings.map((value) => ({
                value,
                label: t(value === '' ? 'everyStanding' : `standing.${value}`),
              }))}
            />
          </>
        }
        empty={
          <EmptyState icon="users" title={t(search === '' && standing === '' ? 'empty.none' : 'empty.found')}>
            {search === '' && standing === '' ? t('empty.text') : undefined}
          </EmptyState>
        }
      />
    </Frame>
  );
}

function useColumns(): readonly Column<Account>[] {
  const { t } = useTranslation('accounts');
  const format = useFormat();
  return useMemo(
    (): readonly Column<Account>[] => [
      {
        id: 'name',
        header: t('column.account'),
        cell: (row) => (
          <span className="font-medium">
            {row.name} <span className="font-normal text-muted">#{row.id}</span>
          </span>
        ),
        value: (row) => `${row.name} #${row.id}`,
        isTitle: true,
      },
      {
        id: 'email',
        header: t('column.email'),
        cell: (row) => row.email ?? <None />,
        value: (row) => row.email,
        isWideOnly: true,
      },
      {
        id: 'standing',
        header: t('column.standing'),
        kind: 'state',
        cell: (row) => <Status tone={standingTones[row.standing]}>{t(`standing.${row.standing}`)}</Status>,
        value: (row) => row.standing,
      },
      {
        id: 'keys',
        header: t('column.keys'),
        kind: 'number',
        cell: (row) => format.count(row.keys),
        value: (row) => row.keys,
      },
      {
        id: 'requests',
        header: t('column.requests'),
        kind: 'number',
        cell: (row) => format.count(row.requests_30d),
        value: (row) => row.requests_30d,
      },
      {
        id: 'spend',
        header: t('column.spend'),
        kind: 'money',
        cell: (row) => <Money micro={row.spend_30d_micro} maxDecimals={2} />,
        value: (row) => parseMicro(row.spend_30d_micro),
      },
      {
        id: 'balance',
        header: t('column.balance'),
        kind: 'money',
        cell: (row) => <Money micro={row.balance_micro} maxDecimals={2} />,
        value: (row) => parseMicro(row.balance_micro),
        isMainFigure: true,
      },
      {
        id: 'created',
        header: t('column.created'),
        kind: 'time',
        cell: (row) => <Time at={row.created_at} style="date" />,
        value: (row) => Date.parse(row.created_at),
        isHiddenByDefault: true,
      },
    ],
    [format, t],
  );
}
