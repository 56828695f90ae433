import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { wordsOfError } from '../../api/errors.ts';
import { readQuery } from '../../api/query.ts';
import { Page as Frame, Section } from '../../app/page.tsx';
import { oneOf, type SearchSchema, useSearchParams } from '../../app/search-params.ts';
import { useLanguage } from '../../i18n/use-format.ts';
import { RangePicker } from '../../ui/range-picker.tsx';
import { ErrorState, SkeletonLines, StaleNote } from '../../ui/states.tsx';
import { Segmented } from '../../ui/tabs.tsx';
import { UsageChart } from '../../usage/usage-chart.tsx';
import { useUsageSearch } from '../../usage/usage-search.ts';
import { AccountState } from './account-state.tsx';
import { Figures } from './figures.tsx';
import { FirstSteps } from './first-steps.tsx';
import { RecentFailures } from './recent-failures.tsx';
import { TopValues } from './top-values.tsx';

const refreshMs = 15_000;
const metrics = ['cost', 'requests', 'completion_tokens'] as const;
type Metric = (typeof metrics)[number];
const schema: SearchSchema<{ metric: Metric }> = { metric: oneOf(metrics, 'cost') };

/** U1: what the account has, what it spends, and what failed. */
export function Page() {
  const { t } = useTranslation('overview');
  const language = useLanguage();
  const { range, setRange, query } = useUsageSearch();
  const [{ metric }, change] = useSearchParams(schema);
  const account = useQuery({
    ...readQuery('GET /dashboard/api/account', {}),
    refetchInterval: refreshMs,
  });
  return (
    <Frame
      title={t('title')}
      aside={
        account.data === undefined ? null : (
          <StaleNote
            updatedMs={account.dataUpdatedAt}
            isFailing={account.isError}
            onRefresh={() => void account.refetch()}
            isRefreshing={account.isFetching}
          />
        )
      }
      actions={<RangePicker value={range} onChange={setRange} />}
    >
      {account.data === undefined ? (
        account.isError ? (
          <ErrorState onRetry={() => void account.refetch()} isRetrying={account.isFetching}>
            {wordsOfError(account.error, language, t)}
          </ErrorState>
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
          <Section
            title={t('byModel')}
            actions={
              <Segmented
                label={t('metric')}
                value={metric}
                onChange={(next) => change({ metric: next })}
                options={metrics.map((value) => ({ value, label: t(`usage:metric.${value}`) }))}
              />
            }
          >
            <UsageChart query={query} metric={metric} by="model" />
          </Section>
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
