import type { Account } from '../accounts/account.ts';
import type { AccountCache } from '../accounts/account-cache.ts';
import type { KeyHash } from '../accounts/api-key.ts';
import type { BearerHashes, Caller } from '../accounts/authenticate.ts';
import type { Key } from '../accounts/key.ts';
import type { KeyCache } from '../accounts/key-cache.ts';
import { assertMayCall, type Credential } from '../accounts/rules.ts';
import { Refusal } from '../errors/catalogue.ts';
import type { Exchange } from '../http/exchange.ts';
import type { RouteTable } from '../http/route-table.ts';
import type { DatabaseWaits } from '../nodes/database-waits.ts';
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
  readonly hashes: BearerHashes;
  /**
   * Undefined when the cached keys and accounts are current, else a promise of that.
   */
  readonly fresh: () => Promise<void> | undefined;
  readonly waits: Pick<DatabaseWaits, 'until'>;
}

const noQuery = {};

/**
 * The first stages of every request: finds the route, identifies the caller, calls the handler.
 * Rejects with their refusals, never in the turn in which the head arrived: the rest of the same
 * packet may still be no HTTP, which ends the connection instead.
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
  const identifying = credential === 'none' ? null : identify(parts, exchange, { credential, route });
  const caller = identifying instanceof Promise ? await identifying : identifying;
  const schema = route.document?.query;
  const query = schema === undefined ? noQuery : validatedQuery(schema, exchange.queryText);
  const handling = route.handle({ params, query, caller, exchange });
  if (caller !== null && handling instanceof Promise && route.onRefused === undefined)
    return await parts.waits.until(caller.accountId, handling);
  // Returned without `await`, the promise would take two more turns.
  return await handling;
}

/** An endpoint that requires a credential. */
interface Guarded {
  readonly credential: Exclude<Credential, 'none'>;
  readonly route: AnyRoute;
}

/** A key and its account; null when there is none. */
interface Presented {
  readonly key: Key | null;
  readonly account: Account | null;
}

/**
 * Identifies the caller (spec:api/3), in the order of spec:errors/5.2; from the cache unless the
 * key is new to this process. A promise only when something must be read.
 */
function identify(parts: DispatchParts, exchange: Exchange, guarded: Guarded): Caller | Promise<Caller> {
  const hash = parts.hashes.hashOf(exchange.socket, exchange.headers.authorization);
  const presented = lookUp(parts, hash);
  if (!(presented instanceof Promise)) return admit(parts, exchange, guarded, presented);
  return identifyByReading(parts, exchange, guarded, { hash, presented });
}

async function identifyByReading(
  parts: DispatchParts,
  exchange: Exchange,
  guarded: Guarded,
  { hash, presented }: { readonly hash: KeyHash; readonly presented: Promise<Presented> },
): Promise<Caller> {
  const key = parts.keys.getKnown(hash) ?? null;
  let read: Presented;
  try {
    read = await parts.waits.until(key?.row.accountId ?? null, presented);
  } catch (refusal) {
    if (key !== null) exchange.leadTo(key.row.accountId);
    if (refusal instanceof Refusal) guarded.route.onRefused?.({ hash, key, exchange, refusal });
    throw refusal;
  }
  return admit(parts, exchange, guarded, read);
}

function lookUp(parts: DispatchParts, hash: KeyHash): Presented | Promise<Presented> {
  const fresh = parts.fresh();
  const key = fresh === undefined ? parts.keys.getCached(hash) : undefined;
  if (key === undefined) return readPresented(parts, hash, fresh);
  const account = key === null ? null : accountOf(parts.accounts, key);
  return account instanceof Promise ? account.then((read) => ({ key, account: read })) : { key, account };
}

async function readPresented(
  { keys, accounts }: DispatchParts,
  hash: KeyHash,
  fresh: Promise<void> | undefined,
): Promise<Presented> {
  if (fresh !== undefined) await fresh;
  const known = keys.getCached(hash);
  const key = known === undefined ? await keys.load(hash) : known;
  return { key, account: key === null ? null : await accountOf(accounts, key) };
}

/** Refuses a caller who may not use the endpoint; the request then counts for its key. */
function admit(
  parts: DispatchParts,
  exchange: Exchange,
  { credential, route }: Guarded,
  { key, account }: Presented,
): Caller {
  if (key !== null) exchange.leadTo(key.row.accountId);
  try {
    assertMayCall(key, credential, parts.clock.now(), () => {
      if (account === null) throw new Error('a key without an account');
      return account.balance;
    });
  } catch (refusal) {
    if (key !== null && refusal instanceof Refusal)
      route.onRefused?.({ hash: key.row.hash, key, exchange, refusal });
    throw refusal;
  }
  exchange.memory?.countFor(`key ${key.row.id}`);
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
