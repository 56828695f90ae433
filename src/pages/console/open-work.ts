import { findAccounts } from '../../accounts/accounts-sql.ts';
import type { ConsoleContext } from '../context.ts';
import { pageRoute } from '../page-route.ts';
import { accountsOf, openWorkBody, openWorkShape } from './open-work-body.ts';

/** The rows behind the live figures of the page Now (A1). */
export function openWorkPages({ reads, clock, processes }: ConsoleContext) {
  return [
    pageRoute({
      method: 'GET',
      path: '/console/api/now/open',
      summary: 'The requests in flight of this server, and its settlements that are not in the database',
      response: openWorkShape,
      handle: async () => {
        const found = await processes.openWork();
        const accounts = await findAccounts(reads, accountsOf(found));
        return openWorkBody(found, { accounts, size: processes.size, nowMs: clock.now() });
      },
    }),
  ];
}
