import type { Client } from 'pg';
import { int8ArrayOfNumbers } from '../store/binary-arrays.ts';
import { sqlOver } from '../store/sql.ts';
import { post } from './ledger-sql.ts';

/** Usage from before credit of its account expired that was settled after the expiry. */
export interface LateUsage {
  readonly accountId: number;
  readonly settledAtMs: number;
  readonly cost: bigint;
}

interface ExpiredLot {
  readonly id: number;
  readonly grantedAtMs: number;
  readonly expiresAtMs: number;
  /** What expired of the lot, less what was taken back. */
  left: bigint;
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
  const lotsOf = await expiredLots(client, [...new Set(late.map(({ accountId }) => accountId))]);
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

/** Lots that expired in part or in whole, by account; of each account the first to expire first. */
async function expiredLots(
  client: Client,
  accountIds: readonly number[],
): Promise<ReadonlyMap<number, readonly ExpiredLot[]>> {
  const { rows } = await client.query<{
    account_id: bigint;
    id: bigint;
    granted_at: number;
    expires_at: number;
    expired: bigint;
  }>(
    `SELECT c.account_id, c.id, c.granted_at, c.expires_at, -sum(l.amount)::bigint AS expired
     FROM ledger l JOIN credit_lot c ON c.account_id = l.account_id AND c.id = l.lot_id
     WHERE l.account_id = ANY($1::bigint[]) AND l.kind = 4
     GROUP BY c.account_id, c.id HAVING sum(l.amount) < 0 ORDER BY c.account_id, c.expires_at, c.id`,
    [int8ArrayOfNumbers(accountIds)],
  );
  return Map.groupBy(
    rows.map((row) => ({
      accountId: Number(row.account_id),
      id: Number(row.id),
      grantedAtMs: row.granted_at,
      expiresAtMs: row.expires_at,
      left: row.expired,
    })),
    ({ accountId }) => accountId,
  );
}
