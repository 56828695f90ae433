import type { Client } from 'pg';
import { sqlOver } from '../store/sql.ts';
import { post } from './ledger-sql.ts';
import { type ExpiredLot, expiredLots } from './lots-sql.ts';

/** Usage from before credit of its account expired that was settled after the expiry. */
export interface LateUsage {
  readonly accountId: number;
  readonly settledAtMs: number;
  readonly cost: bigint;
}

/**
 * Charges late usage to the lots that were valid when it was settled. Credit that expired although
 * it had been spent is taken back by an entry of the kind `expiry` with an amount above zero. The
 * usage was debited just now, so the balances are locked, and the totals are as if the usage had
 * been known in time. The lots have no remainder and stay as they are. Returns whether anything
 * moved.
 */
export async function chargeExpired(client: Client, late: readonly LateUsage[]): Promise<boolean> {
  const sql = sqlOver(client);
  const expired = await expiredLots(sql, [...new Set(late.map(({ accountId }) => accountId))]);
  const lotsOf = Map.groupBy(expired, ({ accountId }) => accountId);
  const charged = new Map<ExpiredLot, { readonly accountId: number; amount: bigint; atMs: number }>();
  for (const { accountId, settledAtMs, cost } of late.toSorted((a, b) => a.settledAtMs - b.settledAtMs)) {
    let rest = cost;
    for (const lot of lotsOf.get(accountId) ?? []) {
      if (rest === 0n) break;
      if (lot.left === 0n || settledAtMs < lot.grantedAtMs || settledAtMs >= lot.expiresAtMs) continue;
      const part = lot.left < rest ? lot.left : rest;
      lot.left -= part;
      rest -= part;
      const before = charged.get(lot)?.amount ?? 0n;
      charged.set(lot, { accountId, amount: before + part, atMs: settledAtMs });
    }
  }
  if (charged.size === 0) return false;
  const usage = new Map<number, bigint>();
  for (const { accountId, amount } of charged.values())
    usage.set(accountId, (usage.get(accountId) ?? 0n) - amount);
  await post(
    sql,
    [...usage].map(([accountId, moved]) => ({ accountId, credits: 0n, usage: moved, lotApplied: 0n })),
    [...charged].map(([{ id }, { accountId, amount, atMs }]) => ({
      ...{ accountId, kind: 'expiry', amountMicro: amount, lotId: id },
      ...{ idempotencyKey: null, memo: null, atMs },
    })),
  );
  return true;
}
