import { minIdAt, partitionLock, partitionOf } from '../generations/partitions-sql.ts';
import { generationDigestSql, prunedMonthDigestSql, prunedSumsSql } from '../store/digests.ts';
import type { Sql } from '../store/sql.ts';

/** A monthly partition of `generation`. */
export interface MonthOfRecords {
  /** `YYYY-MM-DD`, its first day. */
  readonly month: string;
  readonly startMs: number;
  readonly endMs: number;
}

/** The sums of a month: its records, and their total cost. */
export interface MonthSums {
  readonly records: number;
  readonly costMicro: bigint;
}

/** Stores what else must stay of a month; run in the transaction that drops its partition. */
export type KeepOfMonth = (
  sql: Sql,
  of: { readonly month: string; readonly partition: string },
) => Promise<void>;

/**
 * How long one attempt to drop waits for readers of the records, and how many attempts there are:
 * settlements wait behind each attempt.
 */
const lockWithinMs = 500;
const lockTries = 60;
const lockNotAvailable = '55P03';

/** The first days of the months that have a partition of their own, oldest first. */
export async function listMonths(sql: Sql): Promise<readonly string[]> {
  const rows = await sql.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = 'generation'::regclass AND c.relname ~ '^generation_[0-9]{4}_[0-9]{2}$' ORDER BY 1`,
  );
  return rows.map(({ name }) => `${name.slice(11, 15)}-${name.slice(16)}-01`);
}

export async function sumMonth(sql: Sql, month: string): Promise<MonthSums> {
  const [row] = await sql.query<{ records: bigint; cost: bigint }>(
    `SELECT count(*) AS records, coalesce(sum(cost), 0)::bigint AS cost FROM ${partitionOf(month)}`,
  );
  return { records: Number(row?.records ?? 0n), costMicro: row?.cost ?? 0n };
}

/**
 * Replaces the records of a month by their sums. Run in a transaction. Throws when the records are
 * being read for longer than half a minute (a backup, a verification); then nothing is changed.
 */
export async function dropMonth(
  sql: Sql,
  { month, startMs, endMs }: MonthOfRecords,
  { nowMs, keep }: { readonly nowMs: number; readonly keep: KeepOfMonth },
): Promise<MonthSums> {
  const partition = partitionOf(month);
  await sql.query('SELECT pg_advisory_xact_lock($1)', [partitionLock]);
  // A later record of this month waits, and then goes to the default partition.
  await sql.query(`LOCK TABLE ${partition} IN SHARE MODE`);
  await sql.query(
    `INSERT INTO pruned_usage (account_id, month, key_id, app_id, model, day, cost, requests, billed, prompt_tokens, completion_tokens,
       records_digest)
     SELECT account_id, $1::date, key_id, app_id, coalesce(model, ''), day, sum(cost), count(*), count(*) FILTER (WHERE cost > 0),
            sum(prompt_tokens), sum(completion_tokens), bit_xor(${generationDigestSql('g')})
     FROM ${partition} g GROUP BY account_id, key_id, app_id, model, day`,
    [month],
  );
  await keep(sql, { month, partition });
  const sums = await sumMonth(sql, month);
  await sql.query(
    `INSERT INTO pruned_month (month, from_id, to_id, records, cost, pruned_at, digest)
     SELECT m.*, ${prunedMonthDigestSql}
     FROM (VALUES ($1::date, $2::uuid, $3::uuid, $4::bigint, $5::bigint, to_timestamp($6::float8 / 1000)))
          m (month, from_id, to_id, records, cost, pruned_at)
     LEFT JOIN ${prunedSumsSql('month = $1::date')} u ON u.month = m.month`,
    [month, minIdAt(startMs), minIdAt(endMs), sums.records, sums.costMicro, nowMs],
  );
  await detach(sql, partition);
  await sql.query(`DROP TABLE ${partition}`);
  return sums;
}

async function detach(sql: Sql, partition: string): Promise<void> {
  await sql.query(`SET LOCAL lock_timeout = ${lockWithinMs}`);
  for (let tries = 1; ; tries += 1) {
    await sql.query('SAVEPOINT before_detach');
    try {
      await sql.query(`ALTER TABLE generation DETACH PARTITION ${partition}`);
      return;
    } catch (error) {
      if ((error as { code?: unknown }).code !== lockNotAvailable || tries === lockTries) throw error;
      await sql.query('ROLLBACK TO SAVEPOINT before_detach');
    }
  }
}
