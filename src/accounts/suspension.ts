import { recordChanges } from '../store/changes.ts';
import type { Sql, Transactions } from '../store/sql.ts';
import { findLiveKeyIds, lockAccount, revokeKeysOf, setClosed, setSuspended } from './accounts-sql.ts';

/** What a suspension or closure did, or that there was nothing to do; `keys` it applies to. */
export type SuspensionOutcome =
  | { readonly kind: 'done'; readonly keys: number }
  | { readonly kind: 'unchanged' | 'not_found' };

/**
 * Suspends an account or lifts its suspension: its keys are rejected on every node within a second,
 * and so are those that are created while it lasts. The suspensions of single keys stay as they
 * are.
 */
export function suspendAccount(
  database: Transactions,
  {
    accountId,
    suspended,
    reason,
  }: { readonly accountId: number; readonly suspended: boolean; readonly reason: string | null },
  atMs: number,
): Promise<SuspensionOutcome> {
  return database.transaction(async (sql) => {
    const account = await lockAccount(sql, accountId);
    if (account === null) return { kind: 'not_found' };
    if ((account.suspendedAtMs !== null) === suspended) return { kind: 'unchanged' };
    await setSuspended(sql, accountId, suspended ? { atMs, reason } : { atMs: null, reason: null });
    const keyIds = await findLiveKeyIds(sql, accountId);
    await recordChanges(sql, 'key', keyIds);
    return { kind: 'done', keys: keyIds.length };
  });
}

/**
 * Closes an account: its keys are revoked on every node within a second, and neither a key nor credit
 * is added to it. Or opens it again, without its keys. The balance does not change.
 */
export async function closeAccount(
  sql: Sql,
  { accountId, closed }: { readonly accountId: number; readonly closed: boolean },
  atMs: number,
): Promise<SuspensionOutcome> {
  const account = await lockAccount(sql, accountId);
  if (account === null) return { kind: 'not_found' };
  if ((account.closedAtMs !== null) === closed) return { kind: 'unchanged' };
  await setClosed(sql, accountId, closed ? atMs : null);
  const keyIds = closed ? await revokeKeysOf(sql, accountId, atMs) : [];
  await recordChanges(sql, 'key', keyIds);
  return { kind: 'done', keys: keyIds.length };
}
