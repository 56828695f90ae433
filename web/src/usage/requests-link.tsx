import type { ReactNode } from 'react';
import { Link } from '../app/link.tsx';
import type { UsageSource } from './usage-source.ts';

export interface RequestsLinkProps {
  readonly source: UsageSource;
  /** What narrows the requests beside the filters of the page; null: text without a link. */
  readonly filter: Readonly<Record<string, string>> | null;
  readonly outcome?: 'failed';
  readonly children: ReactNode;
}

/** Leads from a number to the requests behind it. */
export function RequestsLink({ source, filter, outcome, children }: RequestsLinkProps) {
  if (filter === null) return <>{children}</>;
  const isTab = typeof source === 'object';
  const more = { ...(outcome === undefined ? {} : { outcome }), ...(isTab ? { tab: 'requests' } : {}) };
  return (
    <Link
      to={isTab ? '.' : '/requests'}
      search={(before) => ({ ...before, ...filter, ...more })}
      className="hover:underline"
    >
      {children}
    </Link>
  );
}
