import { isClosed } from '../accounts/accounts-sql.ts';
import type { Krw } from '../money/krw.ts';
import { recordChange, recordChanges } from '../store/changes.ts';
import { isConnectionLoss } from '../store/connection.ts';
import type { Database } from '../store/database.ts';
import type { Sql, Transactions } from '../store/sql.ts';
import { findEarlierEntry, type Move, post } from './ledger-sql.ts';
import { dueAt, spend } from './lots.ts';
import {
  accountsWithDueLots,
  insertLot,
  type LockedBalance,
  lockBalance,
  lockBalances,
  lotsDue,
  type OpenLot,
  openLots,
  setRemainders,
} from './lots-sql.ts';

/** Credit to add to an account. */
export interface Grant {
  readonly accountId: number;
  readonly kind: 'topup' | 'bonus';
  /** Above zero. */
  readonly amount: Krw;
  /** The first instant at which the remainder is lost; null for never. */
  readonly expiresAtMs: number | null;
  /** Granting twice with one key grants once. */
  readonly idempotencyKey: string | null;
  readonly memo: string | null;
}

/** The result of a grant. `conflict`: the idempotency key was used for another act or another grant. */
export type GrantOutcome =
  | { readonly kind: 'granted' | 'repeated'; readonly entryId: number }
  | { readonly kind: 'no_account' | 'closed' | 'conflict' };

/** Adds credit: a lot, a ledger entry and the totals, in one transaction. */
export function grantCredit(database: Transactions, grant: Grant, atMs: number): Promise<GrantOutcome> {
  return database.transaction((sql) => grantWithin(sql, grant, atMs));
}

/** The same within a transaction of the caller. */
export async function grantWithin(sql: Sql, grant: Grant, atMs: number): Promise<GrantOutcome> {
  // The lock comes first: it orders two grants with one idempotency key, and the second finds the
  // entry of the first.
  if ((await lockBalance(sql, grant.accountId)) === null) return { kind: 'no_account' };
  const earlier = await findEarlierEntry(sql, { ...grant, refundOf: null });
  if (earlier !== null)
    return earlier.isSame ? { kind: 'repeated', entryId: earlier.id } : { kind: 'conflict' };
  if (await isClosed(sql, grant.accountId)) return { kind: 'closed' };
  // What was spent before this grant is charged to the earlier lots.
  await chargeLots(sql, grant.accountId);
  const lot = await insertLot(sql, { ...grant, amountMicro: grant.amount, atMs });
  const move = { accountId: grant.accountId, credits: grant.amount, usage: 0n, lotApplied: 0n };
  const [entryId = 0] = await post(sql, [move], [{ ...grant, ...lot, amountMicro: grant.amount, atMs }]);
  await recordChange(sql, 'account', grant.accountId);
  return { kind: 'granted', entryId };
}

/** How many accounts expire in one transaction, and how many one query lists. */
const accountsAtOnce = 500;
const accountsInList = 50_000;

/** Expires every lot that is due by the clock of the database: the clock of a node may be fast. */
export async function expireDueCredit(database: Database): Promise<number> {
  let expired = 0;
  await database.placement.eachReached(['credit_lot'], async (sql) => {
    const { nowMs, isDue } = await lotsDue(sql, null);
    if (!isDue) return;
    const lots = await expireCredit(database, nowMs, sql);
    expired += lots;
  });
  return expired;
}

/**
 * Takes the remainder of every lot whose expiry has come, as `expiry` entries; returns the number
 * of lots. Safe to run at the same time on several nodes: the first to lock the balance does the
 * work, the others find nothing. An account that fails does not stop the others; the error is
 * thrown at the end. `lots` lists them.
 */
export async function expireCredit(database: Database, atMs: number, lots: Sql = database): Promise<number> {
  let expired = 0;
  for (let after = -1; ; ) {
    const due = await accountsWithDueLots(lots, atMs, { after, limit: accountsInList });
    const ofThese = await expireOf(database, due, atMs);
    expired += ofThese;
    if (due.length < accountsInList) return expired;
    after = due.at(-1) ?? after;
  }
}

/** The same of these accounts. Those of a server that is away do not stop the others. */
async function expireOf(database: Database, accountIds: readonly number[], atMs: number): Promise<number> {
  let expired = 0;
  const errors: Error[] = [];
  const expire = async (ids: readonly number[]): Promise<void> => {
    try {
      const lots = await database.transaction((sql) => expireAccounts(sql, ids, atMs));
      expired += lots;
    } catch (error) {
      const [first = 0] = ids;
      if (ids.length === 1 || isConnectionLoss(error))
        errors.push(new Error(`the credit of account ${first} cannot expire`, { cause: error }));
      else for (const accountId of ids) await expire([accountId]);
    }
  };
  for (const ofPart of Map.groupBy(accountIds, (id) => database.placement.partOf(id)).values())
    for (let at = 0; at < ofPart.length; at += accountsAtOnce) {
      const before = errors.length;
      await expire(ofPart.slice(at, at + accountsAtOnce));
      if (errors.slice(before).some(({ cause }) => isConnectionLoss(cause))) break;
    }
  const [first] = errors;
  if (first !== undefined) throw isConnectionLoss(first.cause) ? first.cause : first;
  return expired;
}

async function expireAccounts(sql: Sql, accountIds: readonly number[], atMs: number): Promise<number> {
  const balances = await lockBalances(sql, accountIds);
  const lotsOf = Map.groupBy(await openLots(sql, accountIds), (lot) => lot.accountId);
  const expiries = balances
    .map((balance) => expiryOf(balance, lotsOf.get(balance.accountId) ?? [], atMs))
    .filter(({ changed }) => changed.length > 0);
  if (expiries.length === 0) return 0;
  const entry = { kind: 'expiry', idempotencyKey: null, memo: null, atMs } as const;
  await setRemainders(
    sql,
    expiries.flatMap(({ changed }) => changed),
  );
  const due = expiries.flatMap((expiry) => expiry.due);
  await post(
    sql,
    expiries.map(({ move }) => move),
    due.map(({ accountId, id, remaining }) => ({ ...entry, accountId, amountMicro: -remaining, lotId: id })),
  );
  if (due.length > 0)
    await recordChanges(sql, 'account', [...new Set(due.map(({ accountId }) => accountId))]);
  return due.length;
}

/** Charges the open lots of one account with what was spent, then expires those that are due. */
function expiryOf(
  { accountId, usage, lotApplied }: LockedBalance,
  lots: readonly OpenLot[],
  atMs: number,
): { readonly changed: readonly OpenLot[]; readonly due: readonly OpenLot[]; readonly move: Move } {
  const charged = spend(lots, usage - lotApplied);
  const leftOf = new Map(charged.lots.map(({ id, remaining }) => [id, remaining]));
  const left = lots.map((lot) => ({ ...lot, remaining: leftOf.get(lot.id) ?? lot.remaining }));
  const due = dueAt(left, atMs).filter(({ remaining }) => remaining > 0n);
  const isDue = new Set(due.map(({ id }) => id));
  const lost = due.reduce((sum, { remaining }) => sum + remaining, 0n);
  return {
    changed: left
      .map((lot) => (isDue.has(lot.id) ? { ...lot, remaining: 0n } : lot))
      .filter((lot) => isDue.has(lot.id) || leftOf.has(lot.id)),
    due,
    move: {
      ...{ accountId, credits: 0n, usage: lost, lotApplied: charged.taken + lost },
      expiredUntilMs: due.length === 0 ? null : Math.max(...due.map((lot) => lot.expiresAtMs ?? 0)),
    },
  };
}

/** Charges the lots with what was spent since they were last charged. Locks the balance. */
export async function chargeLots(sql: Sql, accountId: number): Promise<void> {
  const balance = await lockBalance(sql, accountId);
  if (balance === null || balance.usage === balance.lotApplied) return;
  const charged = spend(await openLots(sql, [accountId]), balance.usage - balance.lotApplied);
  if (charged.lots.length === 0) return;
  await setRemainders(
    sql,
    charged.lots.map(({ id, remaining }) => ({ accountId, id, remaining })),
  );
  await post(sql, [{ accountId, credits: 0n, usage: 0n, lotApplied: charged.taken }], []);
}
