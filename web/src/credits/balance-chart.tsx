import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../api/client.ts';
import { ReadError } from '../app/read-error.tsx';
import { useRange } from '../app/search-params.ts';
import { parseMicro } from '../format/money.ts';
import { seoulDay, startOfDay } from '../format/time.ts';
import { type Format, useFormat } from '../i18n/use-format.ts';
import { Chart, type ChartPoint, moneyValues } from '../ui/chart/index.tsx';
import { Skeleton, useNow } from '../ui/states.tsx';
import { stepsOf } from '../usage/series.ts';
import { rangeQuery } from '../usage/usage-search.ts';
import { accountQuery } from './account-query.ts';

type History = ResponseOf<'GET /dashboard/api/balance'>;

/**
 * The balance at the end of each day; a mark where credit was granted. Of the own account, or for
 * operators of the one with this id.
 */
export function BalanceChart({ account }: { account?: string }) {
  const { t } = useTranslation('credits');
  const format = useFormat();
  const nowMs = useNow(60_000);
  const [range] = useRange();
  const history = useQuery({
    ...accountQuery('GET /dashboard/api/balance', account, { query: rangeQuery(range) }),
    refetchInterval: 60_000,
  });
  const words = t('grantedOn', { amount: '{{amount}}' });
  const chart = useMemo(
    () => (history.data === undefined ? null : chartOf(history.data, { format, nowMs, words })),
    [history.data, format, nowMs, words],
  );
  if (chart === null)
    return history.isError ? (
      <ReadError of={history} />
    ) : (
      <div className="h-72">
        <Skeleton className="h-full" />
      </div>
    );
  return (
    <Chart
      kind="lines"
      title={t('balanceAtEnd')}
      pointHeader={t('column.day')}
      points={chart.points}
      series={[{ key: 'balance', label: t('balance'), values: chart.values }]}
      values={{ ...moneyValues(format), sum: null }}
    />
  );
}

/** A value for each day: that of the last day on which it changed; today's is the balance of now. */
function chartOf(
  history: History,
  { format, nowMs, words }: { readonly format: Format; readonly nowMs: number; readonly words: string },
): { readonly points: readonly ChartPoint[]; readonly values: readonly bigint[] } {
  const byDay = new Map(history.days.map((one) => [startOfDay(one.day), one]));
  const starts = stepsOf(Date.parse(history.from), Date.parse(history.to), 'day', nowMs);
  const today = startOfDay(seoulDay(nowMs));
  let balance = parseMicro(history.opening_micro);
  const values = starts.map((start) => {
    balance = parseMicro(byDay.get(start)?.balance_micro ?? balance);
    return start === today ? parseMicro(history.balance_micro) : balance;
  });
  const points = starts.map((start): ChartPoint => {
    const granted = byDay.get(start)?.granted_micro ?? '0';
    const title = format.time(start, 'day');
    return {
      key: start,
      label: format.dayShort(start),
      title: granted === '0' ? title : `${title} · ${words.replace('{{amount}}', format.money(granted))}`,
      isMarked: granted !== '0',
    };
  });
  return { points, values };
}
