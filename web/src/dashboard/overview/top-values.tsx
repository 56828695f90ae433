import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { readQuery } from '../../api/query.ts';
import { Link } from '../../app/link.tsx';
import { Section } from '../../app/page.tsx';
import { ReadError } from '../../app/read-error.tsx';
import { useFormat } from '../../i18n/use-format.ts';
import { SkeletonLines } from '../../ui/states.tsx';
import { formatMetric, type SumMetric, sumValue } from '../../usage/metrics.ts';
import { useValueNames } from '../../usage/usage-chart.tsx';
import type { useUsageSearch } from '../../usage/usage-search.ts';

export interface TopValuesProps {
  readonly by: 'model' | 'app' | 'key';
  readonly query: ReturnType<typeof useUsageSearch>['query'];
  readonly metric: SumMetric;
}

const shownValues = 5;

/** The five values of a dimension that count most; each leads to its usage. */
export function TopValues({ by, query, metric }: TopValuesProps) {
  const { t } = useTranslation('overview');
  const format = useFormat();
  const nameOf = useValueNames();
  const groups = useQuery(
    readQuery('GET /dashboard/api/usage/groups', {
      query: { ...query, by, limit: shownValues, ranking: metric },
    }),
  );
  const items = groups.data?.items.filter(({ value }) => value !== null);
  return (
    <Section title={t(`top.${by}`)}>
      {items === undefined ? (
        groups.isError ? (
          <ReadError of={groups} />
        ) : (
          <SkeletonLines lines={shownValues} />
        )
      ) : items.length === 0 ? (
        <p className="text-sm text-muted">{t('nothing')}</p>
      ) : (
        <ol className="flex min-w-0 flex-col text-sm">
          {items.map(({ value, label, sums }) => (
            <li key={value} className="flex items-baseline gap-3 border-b py-1.5 last:border-b-0">
              <Link
                to="/usage"
                search={(before) => ({ ...before, [by]: value ?? '' })}
                dir="auto"
                className="min-w-0 flex-1 truncate text-left hover:underline"
                title={label ?? value ?? ''}
              >
                {nameOf(by, value, label)}
              </Link>
              <span className="tabular-nums whitespace-nowrap">
                {formatMetric(metric, sumValue(metric, sums) ?? 0, format)}
              </span>
            </li>
          ))}
        </ol>
      )}
    </Section>
  );
}
