import type { AccountCache } from '../accounts/account-cache.ts';
import type { KeyCache } from '../accounts/key-cache.ts';
import { krwOfMicro } from '../money/krw.ts';
import type { CreditLeases } from '../nodes/credit-leases.ts';
import type { SettlementResult, SettlementRow } from './settlement-sql.ts';

/** The memory that holds pending charges. */
export interface ChargedParts {
  readonly accounts: AccountCache;
  readonly keys: KeyCache;
  readonly leases: CreditLeases;
}

/**
 * Moves committed charges out of the pending ones in one turn, so that no reader sees a charge
 * twice or not at all.
 */
export function takeCommitted(
  { accounts, keys, leases }: ChargedParts,
  rows: readonly SettlementRow[],
  result: SettlementResult,
  readAtMs: number,
): void {
  accounts.update(result.balances, readAtMs);
  for (const row of rows) {
    const cost = krwOfMicro(row.cost);
    accounts.getCached(row.accountId)?.uncharge(cost);
    leases.spent('account', row.accountId, cost);
    leases.spent('key', row.keyId, cost);
    const key = keys.getCachedById(row.keyId);
    if (key === undefined) continue;
    if (!result.replayed.has(row.uuid)) key.committed(row.day, cost);
    // An earlier attempt whose response was lost moved it: read the spend of the key again.
    else keys.markStale(row.keyId, row.day, cost);
  }
}

/** Reverts the charge in memory for a row that the database rejects. */
export function giveBack({ accounts, keys }: Omit<ChargedParts, 'leases'>, row: SettlementRow): void {
  const cost = krwOfMicro(row.cost);
  accounts.getCached(row.accountId)?.uncharge(cost);
  keys.getCachedById(row.keyId)?.uncharge(row.day, cost);
}
