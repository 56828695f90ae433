import { findAccount } from '../../accounts/accounts-sql.ts';
import type { Database } from '../../store/database.ts';
import type { ConsoleContext } from '../context.ts';
import { appReadPages } from '../dashboard/apps.ts';
import { creditPages } from '../dashboard/credits.ts';
import { generationPages } from '../dashboard/generations.ts';
import { ledgerPages } from '../dashboard/ledger.ts';
import { statementPages } from '../dashboard/statement.ts';
import type { AnyPageRoute, PageCall } from '../page-route.ts';
import type { OwnerSession } from '../page-session.ts';
import { usagePages, usedTagPages } from '../usage-rows.ts';
import { accountIdOf } from './account-shape.ts';
import { assertAccount } from './accounts.ts';

/** A row of the dashboard, below the path of an account in the console. */
type ViewOf<R extends AnyPageRoute> = R extends AnyPageRoute
  ? Omit<R, 'path'> & { readonly path: ViewPath<R['path']> }
  : never;
type ViewPath<P> = P extends `/dashboard/api/${infer Rest}`
  ? `/console/api/accounts/{account}/${Rest}`
  : never;

/** What a page call has, whatever its row. */
type AnyCall = PageCall<'session', '/console/api/accounts/{account}', undefined, undefined>;

/**
 * The owner's pages of one account, read-only (A2): the rows of the dashboard with the account of
 * the path. Requests are those that the database has: at most a moment behind the dashboard.
 */
export function accountViewPages(context: ConsoleContext) {
  const { reads } = context;
  const rows = [
    ...ledgerPages(context),
    ...statementPages(context),
    ...generationPages({ ...context, settlements: { find: () => undefined } }),
    ...usagePages('dashboard', context),
    ...usedTagPages(context),
    ...creditPages({ ...context, balanceOf: (id) => balanceOf(reads, id) }),
    ...appReadPages(context),
  ];
  return rows.map((row) => viewOf(reads, row));
}

function viewOf<R extends AnyPageRoute>(reads: Database, row: R): ViewOf<R> {
  if (row.method !== 'GET') throw new Error(`${row.path} is no read`);
  const view = {
    ...row,
    area: 'console',
    role: 'viewer',
    path: row.path.replace('/dashboard/api/', '/console/api/accounts/{account}/'),
    handle: async (call: AnyCall) => {
      const accountId = accountIdOf(call.params.account);
      await assertAccount(reads, accountId);
      return row.handle({ ...call, session: ownerOf(accountId) });
    },
  };
  return view as unknown as ViewOf<R>;
}

async function balanceOf(reads: Database, accountId: number): Promise<bigint> {
  const account = await findAccount(reads, accountId);
  return account === null ? 0n : account.credits - account.usage;
}

/** The session with which the handlers of the dashboard read the account. */
function ownerOf(accountId: number): OwnerSession {
  return { sessionId: '', kind: 'owner', accountId, ownerId: null, via: 'link', createdAtMs: 0 };
}
