import { int8ArrayOfNumbers } from '../store/binary-arrays.ts';
import type { Sql } from '../store/sql.ts';
import { isoDay } from '../time/period.ts';

/** What a key spent on one Seoul day; `day` is `YYYY-MM-DD`, the cost in micro-won. */
export interface KeyDay {
  readonly keyId: number;
  readonly day: string;
  readonly cost: bigint;
  readonly requests: number;
}

/**
 * The days since `sinceDay` on which keys of one account were used, in order; a day without use is
 * left out.
 */
export async function readKeyDays(
  sql: Sql,
  accountId: number,
  keyIds: readonly number[],
  sinceDay: number,
): Promise<readonly KeyDay[]> {
  const rows = await sql.query<{ key_id: bigint; day: string; cost: bigint; requests: bigint }>(
    `SELECT key_id, day, cost, requests FROM key_usage_day
     WHERE account_id = $1 AND key_id = ANY($2::bigint[]) AND day >= $3 ORDER BY key_id, day`,
    [accountId, int8ArrayOfNumbers(keyIds), isoDay(sinceDay)],
  );
  return rows.map((row) => ({
    keyId: Number(row.key_id),
    day: row.day,
    cost: row.cost,
    requests: Number(row.requests),
  }));
}

/**
 * The last Seoul day on which each of the keys was used, `YYYY-MM-DD`; a key that never was is left
 * out.
 */
export async function readLastUsedDays(
  sql: Sql,
  accountId: number,
  keyIds: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  const rows = await sql.query<{ key_id: bigint; day: string }>(
    `SELECT k.id AS key_id, u.day FROM unnest($2::bigint[]) k (id),
       LATERAL (SELECT day FROM key_usage_day WHERE account_id = $1 AND key_id = k.id ORDER BY day DESC LIMIT 1) u`,
    [accountId, int8ArrayOfNumbers(keyIds)],
  );
  return new Map(rows.map((row) => [Number(row.key_id), row.day]));
}
