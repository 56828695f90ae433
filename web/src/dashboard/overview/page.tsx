import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { readQuery } from '../../api/query.ts';
import { Page as Frame } from '../../app/page.tsx';
import { QueryAge } from '../../app/queries-age.tsx';
import { ReadError } from '../../app/read-error.tsx';
import { RangePicker } from '../../ui/range-picker.tsx';
import { SkeletonLines } from '../../ui/states.tsx';
import { MetricChart, useMetric } from '../../usage/metric-chart.tsx';
import { useUsageSearch } from '../../usage/usage-search.ts';
import { AccountState } from './account-state.tsx';
import { Figures } from './figures.tsx';
import { FirstSteps } from './first-steps.tsx';
import { RecentFailures } from './recent-failures.tsx';
import { TopValues } from './top-values.tsx';

const refreshMs = 15_000;

/** U1: what the account has, what it spends, and what failed. */
export function Page() {
  const { t } = useTranslation('overview');
  const { range, setRange, query } = useUsageSearch();
  const [metric] = useMetric();
  const account = useQuery({
    ...readQuery('GET /dashboard/api/account', {}),
    refetchInterval: refreshMs,
  });
  return (
    <Frame
      title={t('title')}
      aside={<QueryAge of={account} />}
      actions={<RangePicker value={range} onChange={setRange} />}
    >
      {account.data === undefined ? (
        account.isError ? (
          <ReadError of={account} />
        ) : (
          <SkeletonLines lines={3} />
        )
      ) : (
        <>
          <AccountState account={account.data} />
          <Figures account={account.data} query={query} range={range} />
        </>
      )}
      {account.data?.total_usage_micro === '0' ? (
        <FirstSteps />
      ) : (
        <>
          <MetricChart title={t('byModel')} query={query} by="model" />
          <div className="grid gap-8 lg:grid-cols-3">
            {(['model', 'app', 'key'] as const).map((by) => (
              <TopValues key={by} by={by} query={query} metric={metric} />
            ))}
          </div>
        </>
      )}
      <RecentFailures />
    </Frame>
  );
}
