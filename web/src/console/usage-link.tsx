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
