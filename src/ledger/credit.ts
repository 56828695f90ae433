import type { Krw } from '../money/krw.ts';
import { recordChange } from '../store/changes.ts';
import { isConnectionLoss } from '../store/connection.ts';
import type { Database } from '../store/database.ts';
import { findEntryByIdempotencyKey, post } from '../store/ledger.ts';
import { accountsWithDueLots, insertLot, lockBalance, openLots, setRemainders } from '../store/lots.ts';
import type { Sql } from '../store/sql.ts';
import { dueAt, spend } from './lots.ts';

/** Credit that is to be added to an account. */
export interface Grant {
  readonly accountId: number;
  readonly kind: 'topup' | 'bonus';
  /** Above zero. */
  readonly amount: Krw;
  /** The first instant at which what is left of it is lost; null for never. */
  readonly expiresAtMs: number | null;
  /** Granting twice with one key grants once. */
  readonly idempotencyKey: string | null;
  readonly memo: string | null;
}

/** What became of a grant. `conflict`: the idempotency key was used for another amount or kind. */
export type GrantOutcome =
  | { readonly kind: 'granted' | 'repeated'; readonly entryId: number }
  | { readonly kind: 'no_account' | 'conflict' };

/** Adds credit: a lot, a ledger entry and the totals, in one transaction. */
export function grantCredit(database: Database, grant: Grant, atMs: number): Promise<GrantOutcome> {
  return database.transaction(async (sql) => {
    // The lock comes first: two grants with one idempotency key meet here, and the second finds the entry of the first.
    if ((await lockBalance(sql, grant.accountId)) === null) return { kind: 'no_account' };
    const earlier = await earlierGrant(sql, grant);
    if (earlier !== null) return earlier;
    // What was spent before this grant is charged to the lots of before it.
    await chargeLots(sql, grant.accountId);
    const lot = await insertLot(sql, { ...grant, amountMicro: grant.amount, atMs });
    const move = { accountId: grant.accountId, credits: grant.amount, usage: 0n, lotApplied: 0n };
    const [entryId = 0] = await post(sql, [move], [{ ...grant, ...lot, amountMicro: grant.amount, atMs }]);
    await recordChange(sql, 'account', grant.accountId);
    return { kind: 'granted', entryId };
  });
}

/**
 * Takes what is left of every lot whose expiry has come, as `expiry` entries; returns how many lots. Safe to run at the same
 * time on several nodes: whoever locks the balance first does the work, the others find none. An account that fails stops no other;
 * then it throws in the end.
 */
export async function expireCredit(database: Database, atMs: number): Promise<number> {
  let expired = 0;
  let failed: Error | null = null;
  for (const accountId of await accountsWithDueLots(database, atMs, 1000)) {
    try {
      expired += await database.transaction((sql) => expireAccount(sql, accountId, atMs));
    } catch (error) {
      if (isConnectionLoss(error)) throw error;
      failed ??= new Error(`the credit of account ${accountId} cannot expire`, { cause: error });
    }
  }
  if (failed !== null) throw failed;
  return expired;
}

async function earlierGrant(sql: Sql, grant: Grant): Promise<GrantOutcome | null> {
  if (grant.idempotencyKey === null) return null;
  const entry = await findEntryByIdempotencyKey(sql, grant.accountId, grant.idempotencyKey);
  if (entry === null) return null;
  const same = entry.kind === grant.kind && entry.amountMicro === grant.amount;
  return same ? { kind: 'repeated', entryId: entry.id } : { kind: 'conflict' };
}

async function expireAccount(sql: Sql, accountId: number, atMs: number): Promise<number> {
  await chargeLots(sql, accountId);
  const due = dueAt(await openLots(sql, [accountId]), atMs);
  if (due.length === 0) return 0;
  const lost = due.reduce((sum, lot) => sum + lot.remaining, 0n);
  await setRemainders(
    sql,
    due.map(({ id }) => ({ accountId, id, remaining: 0n })),
  );
  const expiry = { accountId, kind: 'expiry', idempotencyKey: null, memo: null, atMs } as const;
  await post(
    sql,
    [
      {
        ...{ accountId, credits: 0n, usage: lost, lotApplied: lost },
        expiredUntilMs: Math.max(...due.map((lot) => lot.expiresAtMs ?? 0)),
      },
    ],
    due.map((lot) => ({ ...expiry, amountMicro: -lot.remaining, lotId: lot.id })),
  );
  await recordChange(sql, 'account', accountId);
  return due.length;
}

/** Charges the lots with what was spent since they were last looked at. Locks the balance. */
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
