import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { urlOf } from '../../api/client.ts';
import { oneOf, type SearchSchema, text, useSearchParams } from '../../app/search-params.ts';
import { type ItemOf, usePages } from '../../app/use-pages.ts';
import { parseMicro } from '../../format/money.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { buttonClass } from '../../ui/button.tsx';
import { CopyableId } from '../../ui/copy.tsx';
import { Input, Select } from '../../ui/field.tsx';
import { Money, None, Time } from '../../ui/figures.tsx';
import { EmptyState } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { PagedTable } from '../paged-table.tsx';

type Line = ItemOf<'GET /console/api/accounts/{account}/ledger'>;

const kinds = ['', 'topup', 'bonus', 'usage', 'refund', 'expiry', 'adjustment'] as const;
const schema: SearchSchema<{ month: string; kind: (typeof kinds)[number] }> = {
  month: text(),
  kind: oneOf(kinds, ''),
};

/** The ledger of an account: every movement of money with the balance after it. */
export function AccountLedger({ id }: { id: string }) {
  const { t } = useTranslation('account');
  const [{ month, kind }, change] = useSearchParams(schema);
  const params = { account: id };
  const query = {
    ...(/^\d{4}-\d{2}$/.test(month) ? { month } : {}),
    ...(kind === '' ? {} : { kind }),
  };
  const pages = usePages('GET /console/api/accounts/{account}/ledger', { params, query });
  const columns = useColumns();
  return (
    <PagedTable
      id="account-ledger"
      label={t('tab.ledger')}
      columns={columns}
      pages={pages}
      rowId={(line) => line.id}
      tools={
        <>
          <div className="w-44">
            <Input
              type="month"
              aria-label={t('month')}
              value={month}
              onChange={({ target }) => change({ month: target.value })}
            />
          </div>
          <Select
            aria-label={t('column.kind')}
            value={kind}
            onChange={({ target }) => change({ kind: target.value as typeof kind })}
            options={kinds.map((value) => ({ value, label: t(`kind.${value === '' ? 'all' : value}`) }))}
          />
          <a
            href={urlOf('GET /console/api/accounts/{account}/ledger/csv', { params, query })}
            className={buttonClass('secondary', 'sm')}
            download
          >
            {t('csv')}
          </a>
        </>
      }
      empty={<EmptyState title={t('noLines')} />}
    />
  );
}

function useColumns(): readonly Column<Line>[] {
  const { t } = useTranslation('account');
  const format = useFormat();
  return useMemo(
    (): readonly Column<Line>[] => [
      {
        id: 'time',
        header: t('column.time'),
        kind: 'time',
        cell: (line) =>
          line.created_at === null ? t('wholeDay', { day: line.day }) : <Time at={line.created_at} />,
        value: (line) => line.created_at ?? line.day,
        isTitle: true,
        isSortable: false,
      },
      {
        id: 'kind',
        header: t('column.kind'),
        cell: (line) => t(`kind.${line.kind}`),
        value: (line) => line.kind,
        isSortable: false,
      },
      {
        id: 'about',
        header: t('column.about'),
        cell: (line) =>
          line.generation_id !== null ? (
            <CopyableId id={line.generation_id} label={t('column.id')} />
          ) : line.requests !== null ? (
            t('requests', { count: line.requests, shown: format.count(line.requests) })
          ) : (
            <None />
          ),
        value: (line) => line.generation_id ?? line.requests,
        isSortable: false,
      },
      {
        id: 'amount',
        header: t('column.amount'),
        kind: 'money',
        cell: (line) => <Money micro={line.amount_micro} signed />,
        value: (line) => parseMicro(line.amount_micro),
        isMainFigure: true,
        isSortable: false,
      },
      {
        id: 'balance',
        header: t('balance'),
        kind: 'money',
        cell: (line) => <Money micro={line.balance_micro} />,
        value: (line) => parseMicro(line.balance_micro),
        isSortable: false,
      },
    ],
    [format, t],
  );
}
