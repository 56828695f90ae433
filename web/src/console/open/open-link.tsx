import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Phase } from './open-work.ts';

/** What the page of the work in hand shows. */
export interface OpenView {
  readonly view?: 'unsettled';
  readonly phase?: Phase;
}

/** Leads from a live figure to its rows. */
export function OpenLink({ view, children }: { view: OpenView; children: ReactNode }) {
  return (
    <Link
      to={'/open' as never}
      search={view as never}
      className="underline decoration-dotted decoration-1 underline-offset-4 hover:decoration-solid"
    >
      {children}
    </Link>
  );
}
