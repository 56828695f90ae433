import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { UsageSource } from './usage-source.ts';

export interface RequestsLinkProps {
  readonly source: UsageSource;
  /** What narrows the requests beside the filters of the page; null: text without a link. */
  readonly filter: Readonly<Record<string, string>> | null;
  readonly outcome?: 'failed';
  readonly children: ReactNode;
}

/**
 * Leads from a number to the requests behind it. Of all accounts there is no list of requests: the
 * link narrows the usage on the page, by what failed too.
 */
export function RequestsLink({ source, filter, outcome, children }: RequestsLinkProps) {
  if (filter === null) return <>{children}</>;
  const more =
    source === 'all'
      ? outcome === undefined
        ? {}
        : { by: 'error', metric: 'requests' }
      : { ...(outcome === undefined ? {} : { outcome }), ...(source === 'own' ? {} : { tab: 'requests' }) };
  return (
    <Link
      to={source === 'own' ? '/requests' : '.'}
      search={((before: object) => ({ ...before, ...filter, ...more })) as never}
      className="hover:underline"
    >
      {children}
    </Link>
  );
}
