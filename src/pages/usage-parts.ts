import { readUsageParts } from '../ledger/lines-sql.ts';
import type { Sql } from '../store/sql.ts';
import { micro } from './shapes.ts';

/** The members that divide the total usage of an account. */
export const usagePartsShape = {
  used_micro: micro.describe('The part of the total usage that requests cost'),
  expired_micro: micro.describe('The part that expired'),
  deducted_micro: micro.describe('The part that adjustments deducted'),
};

/** The same in a response; the parts add up to `usage`. */
export async function usagePartsOf(reads: Sql, accountId: number, usage: bigint) {
  const { used, expired, deducted } = await readUsageParts(reads, accountId, usage);
  return { used_micro: String(used), expired_micro: String(expired), deducted_micro: String(deducted) };
}
