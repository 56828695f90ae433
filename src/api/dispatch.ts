import type { Account } from '../accounts/account.ts';
import type { AccountCache } from '../accounts/account-cache.ts';
import { Refusal } from '../errors/catalogue.ts';
import type { Exchange } from '../http/exchange.ts';
import type { RouteTable } from '../http/route-table.ts';
import { assertMayCall, type Caller, type Credential, hashOfBearer } from '../keys/authenticate.ts';
import type { Key } from '../keys/key.ts';
import type { KeyCache } from '../keys/key-cache.ts';
import type { Clock } from '../time/clock.ts';
import type { Reply } from '../wire/reply.ts';
import type { AnyRoute } from './route.ts';
import { validatedQuery } from './validated.ts';

/** What dispatching and identifying need. */
export interface DispatchParts {
  readonly table: RouteTable<AnyRoute>;
  readonly keys: KeyCache;
  readonly accounts: AccountCache;
  readonly clock: Clock;
  readonly keyPrefix: string;
  /**
   * Resolves when the cached keys and accounts are current; throws when they cannot be refreshed in
   * time (spec:errors/11.1).
   */
  readonly fresh: () => Promise<void> | undefined;
}

const noQuery = {};

/**
 * The first stages of every request: finds the route, identifies the caller, calls the handler.
 * Throws their refusals.
 */
export async function dispatch(
  parts: DispatchParts,
  exchange: Exchange,
): Promise<Reply | { readonly allow: readonly string[] }> {
  const found = parts.table.find(exchange.method, exchange.path);
  if (found.kind === 'options') return { allow: found.allow };
  const { route, params } = found;
  exchange.logFields.route = route.path;
  const credential: Credential = route.credential;
  exchange.isPrivate = credential !== 'none';
  const caller = credential === 'none' ? null : await identify(parts, exchange, { credential, route });
  const schema = route.document?.query;
  const query = schema === undefined ? noQuery : validatedQuery(schema, exchange.queryText);
  return route.handle({ params, query, caller, exchange });
}

/**
 * Identifies the caller (spec:api/3), in the order of spec:errors/5.2; from the cache unless the
 * key is new to this process.
 */
async function identify(
  parts: DispatchParts,
  exchange: Exchange,
  {
    credential: needs,
    route,
  }: { readonly credential: Exclude<Credential, 'none'>; readonly route: AnyRoute },
): Promise<Caller> {
  const hash = hashOfBearer(exchange.headers.authorization, parts.keyPrefix);
  const fresh = parts.fresh();
  if (fresh !== undefined) await fresh;
  const known = parts.keys.getCached(hash);
  const key: Key | null = known === undefined ? await parts.keys.load(hash) : known;
  const account = key === null ? null : await accountOf(parts.accounts, key);
  try {
    assertMayCall(key, needs, parts.clock.now(), () => {
      if (account === null) throw new Error('a key without an account');
      return account.balance;
    });
  } catch (refusal) {
    if (key !== null && refusal instanceof Refusal) route.onRefused?.({ key, exchange, refusal });
    throw refusal;
  }
  exchange.countFor(`key ${key.row.id}`);
  exchange.logFields.account_id = key.row.accountId;
  exchange.logFields.key_id = key.row.id;
  return { key, accountId: key.row.accountId };
}

/**
 * The key is pinned while the account is read: a change of the key must reach this very object, and
 * so must what the request spends.
 */
function accountOf(accounts: AccountCache, key: Key): Account | Promise<Account | null> {
  const account = accounts.current(key.row.accountId);
  return account instanceof Promise ? key.withPin(account) : account;
}
