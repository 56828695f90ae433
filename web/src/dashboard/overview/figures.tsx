import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../../api/client.ts';
import { readQuery } from '../../api/query.ts';
import { Link } from '../../app/link.tsx';
import type { Range } from '../../format/range.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { Figure, FigureRow, Money, None } from '../../ui/figures.tsx';
import { Skeleton } from '../../ui/states.tsx';
import type { useUsageSearch } from '../../usage/usage-search.ts';
import type { Account } from './account-state.tsx';
import { daysLeftOf } from './days-left.ts';

/** Longer than anybody plans. */
const maxDaysShown = 999n;

export interface FiguresProps {
  readonly account: Account;
  readonly query: ReturnType<typeof useUsageSearch>['query'];
  readonly range: Range;
}

/** The balance and how long it lasts, then what was spent. */
export function Figures({ account, query, range }: FiguresProps) {
  const { t } = useTranslation('overview');
  const format = useFormat();
  const week = useTotals({ range: '7d' });
  const today = useTotals({ range: 'today' });
  const month = useTotals({ range: 'month' });
  const chosen = useTotals(query);
  const daysLeft = week === undefined ? undefined : daysLeftOf(account.balance_micro, week.sums.cost_micro);
  return (
    <FigureRow>
      <Figure
        isMain
        label={t('balance')}
        note={
          daysLeft === undefined ? (
            <Skeleton className="mt-1 h-3 w-24" />
          ) : (
            <Link to="/credits" className="hover:underline">
              {daysLeft === null
                ? t('noPace')
                : daysLeft > maxDaysShown
                  ? t('manyDaysLeft', { days: format.count(maxDaysShown) })
                  : t('daysLeft', { days: format.count(daysLeft) })}
            </Link>
          )
        }
      >
        <Money micro={account.balance_micro} maxDecimals={0} />
      </Figure>
      <Figure label={t('today')} note={<UsageLink range="today" />}>
        {moneyOf(today)}
      </Figure>
      <Figure label={t('month')} note={<UsageLink range="month" />}>
        {moneyOf(month)}
      </Figure>
      <Figure label={t('requests')} note={<RequestsLink range={range} search={{}} />}>
        <Shown data={chosen}>{(data) => format.count(data.sums.requests)}</Shown>
      </Figure>
      <Figure label={t('errorRate')} note={<RequestsLink range={range} search={{ outcome: 'failed' }} />}>
        <Shown data={chosen}>
          {({ sums }) => (sums.requests === 0 ? <None /> : format.percent(sums.failures / sums.requests))}
        </Shown>
      </Figure>
    </FigureRow>
  );
}

/** Leads to what was spent in a range. */
function UsageLink({ range }: { range: 'today' | 'month' }) {
  const { t } = useTranslation('overview');
  return (
    <Link to="/usage" search={{ range }} className="hover:underline">
      {t('whatFor')}
    </Link>
  );
}

/** Names the range of the page, and leads to its requests. */
function RequestsLink({ range, search }: { range: Range; search: Readonly<Record<string, string>> }) {
  const { t } = useTranslation('usage');
  return (
    <Link to="/requests" search={(before) => ({ ...before, ...search })} className="hover:underline">
      {t(`range.${range.range}`)}
    </Link>
  );
}

type Totals = ResponseOf<'GET /dashboard/api/usage/totals'>;

function useTotals(query: FiguresProps['query']): Totals | undefined {
  return useQuery({ ...readQuery('GET /dashboard/api/usage/totals', { query }), refetchInterval: 15_000 })
    .data;
}

function moneyOf(data: Totals | undefined): ReactNode {
  return <Shown data={data}>{({ sums }) => <Money micro={sums.cost_micro} maxDecimals={2} />}</Shown>;
}

function Shown({ data, children }: { data: Totals | undefined; children: (data: Totals) => ReactNode }) {
  return data === undefined ? <Skeleton className="mt-1.5 h-4 w-20" /> : children(data);
}
