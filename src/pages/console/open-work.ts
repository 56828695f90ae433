import { readAccountsById } from '../../accounts/accounts.ts';
import type { Database } from '../../store/database.ts';
import type { Clock } from '../../time/clock.ts';
import { pageRoute } from '../page-route.ts';
import { accountsOf, openWorkBody, openWorkShape, type WorkOfProcess } from './open-work-body.ts';

/** What the row of the work in hand needs. */
export interface OpenWorkPageParts {
  readonly reads: Database;
  readonly clock: Clock;
  /** The processes of this server. */
  readonly processes: {
    readonly size: number;
    openWork(): Promise<readonly WorkOfProcess[]>;
  };
}

/** The rows behind the live figures of the page Now (A1). */
export function openWorkPages({ reads, clock, processes }: OpenWorkPageParts) {
  return [
    pageRoute({
      method: 'GET',
      path: '/console/api/now/open',
      area: 'console',
      credential: 'session',
      summary: 'The requests in flight of this server, and its settlements that are not in the database',
      response: openWorkShape,
      handle: async () => {
        const found = await processes.openWork();
        const accounts = await readAccountsById(reads, accountsOf(found));
        return openWorkBody(found, { accounts, size: processes.size, nowMs: clock.now() });
      },
    }),
  ];
}
