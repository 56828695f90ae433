import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { wordsOfError } from '../../api/errors.ts';
import { readQuery } from '../../api/query.ts';
import { Page as Frame, Section } from '../../app/page.tsx';
import { useFormat, useLanguage } from '../../i18n/use-format.ts';
import { Figure, FigureRow, Money } from '../../ui/figures.tsx';
import { ErrorState, SkeletonLines, StaleNote } from '../../ui/states.tsx';
import { NodeTable } from './node-table.tsx';

const refreshMs = 5_000;

/** A1: what the service does at the moment. */
export function Page() {
  const { t } = useTranslation('now');
  const format = useFormat();
  const language = useLanguage();
  const today = useQuery({
    ...readQuery('GET /console/api/usage/totals', { query: { range: 'today' } }),
    refetchInterval: refreshMs,
  });
  return (
    <Frame
      title={t('title')}
      aside={
        today.data === undefined ? null : (
          <StaleNote
            updatedMs={today.dataUpdatedAt}
            isFailing={today.isError}
            onRefresh={() => void today.refetch()}
            isRefreshing={today.isFetching}
          />
        )
      }
    >
      <Section title={t('today')} note={t('todayNote')}>
        {today.data === undefined ? (
          today.isError ? (
            <ErrorState onRetry={() => void today.refetch()} isRetrying={today.isFetching}>
              {wordsOfError(today.error, language, t)}
            </ErrorState>
          ) : (
            <SkeletonLines lines={2} />
          )
        ) : (
          <FigureRow>
            <Figure isMain label={t('billed')}>
              <Money micro={today.data.sums.cost_micro} maxDecimals={2} />
            </Figure>
            <Figure label={t('requests')}>{format.count(today.data.sums.requests)}</Figure>
            <Figure label={t('failures')}>{format.count(today.data.sums.failures)}</Figure>
            <Figure label={t('tokens')}>{format.count(today.data.sums.completion_tokens)}</Figure>
          </FigureRow>
        )}
      </Section>
      <NodeTable />
    </Frame>
  );
}
