import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../api/client.ts';
import { Page as Frame } from '../app/page.tsx';
import { ReadError } from '../app/read-error.tsx';
import { type SearchSchema, text, useSearchParams } from '../app/search-params.ts';
import { useMonths } from '../app/use-months.ts';
import { accountQuery } from '../credits/account-query.ts';
import { parseMicro } from '../format/money.ts';
import { seoulMonthStart, startOfDay } from '../format/time.ts';
import { useFormat } from '../i18n/use-format.ts';
import { Button } from '../ui/button.tsx';
import { Select } from '../ui/field.tsx';
import { BreakableAmounts, Money, Time } from '../ui/figures.tsx';
import { Banner, SkeletonLines } from '../ui/states.tsx';

type Statement = ResponseOf<'GET /dashboard/api/statement'>;

const schema: SearchSchema<{ month: string }> = { month: text() };

/** The statement of a month, on the screen as on A4: of the own account, or of the one with this id. */
export function StatementPage({ account, back }: { account?: string; back: ReactNode }) {
  const { t } = useTranslation('statement');
  const [{ month: stated }, change] = useSearchParams(schema);
  const [thisMonth] = useState(() => seoulMonthStart(Date.now()).slice(0, 7));
  const month = startOfDay(`${stated}-01`) === null ? thisMonth : stated;
  const read = useQuery(accountQuery('GET /dashboard/api/statement', account, { query: { month } }));
  const months = useMonths(read.data?.account.created_at, month);
  return (
    <Frame
      title={t('title')}
      back={back}
      actions={
        <div className="flex gap-2 print:hidden">
          <Select
            aria-label={t('month')}
            value={month}
            options={months}
            onChange={({ target }) => change({ month: target.value })}
          />
          <Button disabled={read.data === undefined} onClick={() => window.print()}>
            {t('print')}
          </Button>
        </div>
      }
    >
      {read.data === undefined ? (
        read.isError ? (
          <ReadError of={read} />
        ) : (
          <SkeletonLines lines={12} />
        )
      ) : (
        <BreakableAmounts value={true}>
          <Sheet statement={read.data} />
        </BreakableAmounts>
      )}
    </Frame>
  );
}

function Sheet({ statement }: { statement: Statement }) {
  const { t } = useTranslation('statement');
  const format = useFormat();
  const { company, account, is_over: isOver } = statement;
  return (
    <article className="flex max-w-200 flex-col gap-6 [&_data]:whitespace-normal">
      <h2 className="text-lg font-semibold">{format.month(startOfDay(statement.first_day) ?? 0)}</h2>
      {isOver ? null : <Banner tone="warn">{t('open')}</Banner>}
      <dl className="grid grid-cols-2 gap-x-8 gap-y-4 max-md:grid-cols-1 print:grid-cols-2">
        {company === null ? null : (
          <Party label={t('from')} name={company.name} number={company.business_number}>
            {company.address}
          </Party>
        )}
        <Party label={t('to')} name={account.name} number={account.business_number}>
          {t('accountId', { id: account.id })}
        </Party>
        <Fact label={t('period')}>
          {statement.first_day} – {statement.last_day}
        </Fact>
        <Fact label={t('asOf')}>
          <Time at={statement.as_of} />
        </Fact>
      </dl>
      <Sums statement={statement} />
      <Lines statement={statement} />
    </article>
  );
}

function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="min-w-0 wrap-anywhere">
      <dt className="text-sm text-muted">{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Party({
  label,
  name,
  number,
  children,
}: {
  label: string;
  name: string;
  number: string | null;
  children: ReactNode;
}) {
  const { t } = useTranslation('statement');
  return (
    <Fact label={label}>
      <span className="block font-semibold">{name}</span>
      {number === null ? null : <span className="block">{t('businessNumber', { number })}</span>}
      <span className="block text-sm text-muted">{children}</span>
    </Fact>
  );
}

/** What raised the balance, and what lowered it. */
const movements = [
  ['topups', 1n],
  ['bonuses', 1n],
  ['usage_paid', -1n],
  ['usage_bonus', -1n],
  ['refunds', 1n],
  ['expired_paid', -1n],
  ['expired_bonus', -1n],
  ['adjustments', 1n],
] as const;

function Sums({ statement }: { statement: Statement }) {
  const { t } = useTranslation('statement');
  const { amounts, vat, is_over: isOver } = statement;
  const { percent } = vat;
  const supply = parseMicro(amounts.supply_value);
  const tax = parseMicro(amounts.vat);
  const moved = movements
    .map(([name, sign]) => ({ name, micro: sign * parseMicro(amounts[name]) }))
    .filter(({ micro }) => micro !== 0n);
  return (
    <div className="grid grid-cols-2 gap-x-8 gap-y-6 max-md:grid-cols-1 print:grid-cols-2">
      <SumTable
        title={t('sums')}
        rows={[
          [t('opening'), parseMicro(statement.opening_micro)],
          ...moved.map(({ name, micro }) => [t(`month-end:column.${name}`), micro] as const),
          [t(isOver ? 'closing' : 'closingNow'), parseMicro(statement.closing_micro)],
        ]}
      />
      <SumTable
        title={t('tax')}
        rows={[
          [t('month-end:column.supply_value'), supply],
          [t(vat.included ? 'vatIncluded' : 'vatAdded', { percent }), tax],
          [t('total'), supply + tax],
        ]}
      />
    </div>
  );
}

/** Names and amounts; the last is their result. */
function SumTable({ title, rows }: { title: string; rows: readonly (readonly [string, bigint])[] }) {
  return (
    <section className="min-w-0">
      <h3 className="pb-1 font-semibold">{title}</h3>
      <table className="w-full">
        <tbody>
          {rows.map(([name, micro], at) => (
            <tr key={name} className={at === rows.length - 1 ? 'border-t font-semibold' : ''}>
              <th scope="row" className="py-1 pr-4 text-left font-normal">
                {name}
              </th>
              <td className="py-1 text-right wrap-anywhere tabular-nums">
                <Money micro={micro} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Lines({ statement: { lines } }: { statement: Statement }) {
  const { t } = useTranslation('statement');
  const format = useFormat();
  return (
    <section className="min-w-0">
      <h3 className="pb-1 font-semibold">{t('lines')}</h3>
      {lines.length === 0 ? (
        <p className="text-sm text-muted">{t('none')}</p>
      ) : (
        <table className="w-full text-sm">
          <thead>
            <tr className="border-b text-muted">
              <th scope="col" className="py-1 pr-3 text-left font-medium">
                {t('date')}
              </th>
              <th scope="col" className="py-1 pr-3 text-left font-medium">
                {t('transactions:kindLabel')}
              </th>
              <th scope="col" className="py-1 pr-3 text-right font-medium max-md:hidden print:table-cell">
                {t('requests')}
              </th>
              <th scope="col" className="py-1 pr-3 text-right font-medium">
                {t('transactions:column.amount')}
              </th>
              <th scope="col" className="py-1 text-right font-medium">
                {t('transactions:column.balance')}
              </th>
            </tr>
          </thead>
          <tbody>
            {lines.map((line, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the lines of a read never change places.
              <tr key={at} className="border-b">
                <td className="py-1 pr-3 whitespace-nowrap tabular-nums">{line.day}</td>
                <td className="py-1 pr-3">{t(`transactions:kind.${line.kind}`)}</td>
                <td className="py-1 pr-3 text-right tabular-nums max-md:hidden print:table-cell">
                  {line.requests === null ? null : format.count(line.requests)}
                </td>
                <td className="py-1 pr-3 text-right wrap-anywhere tabular-nums">
                  <Money micro={line.amount_micro} />
                </td>
                <td className="py-1 text-right wrap-anywhere tabular-nums">
                  <Money micro={line.balance_micro} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
