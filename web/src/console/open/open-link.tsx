import type { ReactNode } from 'react';
import { Link } from '../../app/link.tsx';
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
      to="/open"
      search={{ ...view }}
      className="underline decoration-dotted decoration-1 underline-offset-4 hover:decoration-solid"
    >
      {children}
    </Link>
  );
}
