import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { firstPageQuery } from '../../api/query.ts';
import { Link } from '../../app/link.tsx';
import { Section } from '../../app/page.tsx';
import { ReadError } from '../../app/read-error.tsx';
import { Status } from '../../ui/badge.tsx';
import { RelativeTime } from '../../ui/figures.tsx';
import { SkeletonLines } from '../../ui/states.tsx';

const shownFailures = 5;

/** The last requests that failed; each leads to why. */
export function RecentFailures() {
  const { t } = useTranslation('overview');
  const failures = useQuery(
    firstPageQuery('GET /dashboard/api/generations', { query: { outcome: 'failed', limit: shownFailures } }),
  );
  return (
    <Section
      title={t('failures')}
      actions={
        <Link
          to="/requests"
          search={{ outcome: 'failed' }}
          className="text-sm text-accent-text hover:underline"
        >
          {t('allFailures')}
        </Link>
      }
    >
      {failures.data === undefined ? (
        failures.isError ? (
          <ReadError of={failures} />
        ) : (
          <SkeletonLines lines={3} />
        )
      ) : failures.data.items.length === 0 ? (
        <p className="text-sm text-muted">{t('noFailures')}</p>
      ) : (
        <ul className="flex flex-col text-sm">
          {failures.data.items.map((one) => (
            <li key={one.id} className="border-b last:border-b-0">
              <Link
                to={`/requests/${one.id}`}
                className="flex flex-wrap items-center gap-x-4 gap-y-1 py-1.5 hover:bg-hover"
              >
                <span className="w-24 text-muted">
                  <RelativeTime at={one.created_at} />
                </span>
                <Status tone="bad">{`${one.status} ${one.error_type ?? ''}`}</Status>
                <span className="min-w-0 flex-1 truncate max-md:order-last max-md:basis-full">
                  {one.asked_model ?? ''}
                </span>
                <span className="truncate text-muted">{one.key?.name ?? ''}</span>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}
