import type { ReactNode } from 'react';
import { Link, type Target } from '../app/link.tsx';

/** What the page of usage shows of today. */
export interface UsageView {
  readonly metric?: 'cost' | 'requests' | 'ttft';
  readonly by?: 'model' | 'provider' | 'status' | 'error';
  readonly model?: string;
  readonly provider?: string;
  readonly error?: string;
}

/** Leads from a figure of now to what it is made of today, hour by hour. */
export function UsageLink({ view, children }: { view: UsageView; children: ReactNode }) {
  return (
    <Link to="/usage" search={{ range: 'today', step: 'hour', ...view }} className="hover:underline">
      {children}
    </Link>
  );
}

/** What the list of all requests of today is narrowed by. */
export interface RequestsView {
  readonly outcome?: 'failed';
  readonly error?: string;
  readonly model?: string;
  readonly provider?: string;
}

/** The address of the requests of all accounts of today. */
export function requestsToday(view: RequestsView): Target {
  return { to: '/requests', search: { range: 'today', ...view } };
}

/** Leads from a figure of now to the requests behind it. */
export function RequestsTodayLink({ view, children }: { view: RequestsView; children: ReactNode }) {
  return (
    <Link {...requestsToday(view)} className="hover:underline">
      {children}
    </Link>
  );
}
