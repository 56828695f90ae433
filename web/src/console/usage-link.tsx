import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

/** What the page of usage shows of today. */
export interface UsageView {
  readonly metric?: 'cost' | 'requests' | 'ttft';
  readonly by?: 'model' | 'provider' | 'status' | 'error';
  readonly model?: string;
  readonly provider?: string;
  readonly error?: string;
}

/** The address of the usage of all accounts today, hour by hour. */
export function usageToday(view: UsageView): { readonly to: '/usage'; readonly search: never } {
  return { to: '/usage', search: { range: 'today', step: 'hour', ...view } as never };
}

/** Leads from a figure of now to what it is made of today. */
export function UsageLink({ view, children }: { view: UsageView; children: ReactNode }) {
  return (
    <Link {...usageToday(view)} className="hover:underline">
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
export function requestsToday(view: RequestsView): { readonly to: '/requests'; readonly search: never } {
  return { to: '/requests', search: { range: 'today', ...view } as never };
}

/** Leads from a figure of now to the requests behind it. */
export function RequestsTodayLink({ view, children }: { view: RequestsView; children: ReactNode }) {
  return (
    <Link {...requestsToday(view)} className="hover:underline">
      {children}
    </Link>
  );
}
