import { OperatorError } from '../errors/operator-error.ts';
import { minIdAt, partitionLock, partitionOf } from '../generations/partitions-sql.ts';
import type { Database } from '../store/database.ts';
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

/** What else must stay of a month. */
export interface KeepOfMonth {
  /** Keeps others from computing it meanwhile. Run in a transaction of the coordinator. */
  readonly lock: (sql: Sql) => Promise<void>;
  /** Stores it; run in the transaction that drops these records. */
  readonly store: (sql: Sql, of: { readonly month: string; readonly partition: string }) => Promise<void>;
}

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

/**
 * Months without records: SQL for a table of them with their ranges of ids. Of one that is being
 * dropped some servers have the records still.
 */
export const droppedMonthsSql =
  '(SELECT month, from_id, to_id FROM pruned_month UNION ALL SELECT month, from_id, to_id FROM pruning_month)';

/**
 * Months, such as `2026-03`, of which some servers have dropped their records and others not: one is
 * being dropped now, or an earlier attempt failed half-way.
 */
export async function listHalfDropped(sql: Sql): Promise<readonly string[]> {
  const rows = await sql.query<{ month: string }>(
    "SELECT to_char(month, 'YYYY-MM') AS month FROM pruning_month ORDER BY 1",
  );
  return rows.map(({ month }) => month);
}

/** The sums of the records that a month has. */
export async function sumMonth(sql: Sql, { startMs, endMs }: MonthOfRecords): Promise<MonthSums> {
  const rows = await sql.query<Sums>(
    'SELECT count(*) AS records, coalesce(sum(cost), 0)::bigint AS cost FROM generation WHERE id >= $1 AND id < $2',
    [minIdAt(startMs), minIdAt(endMs)],
  );
  return sumsOf(rows);
}

interface Sums {
  readonly records: bigint;
  readonly cost: bigint;
}

function sumsOf([row]: readonly Sums[]): MonthSums {
  return { records: Number(row?.records ?? 0n), costMicro: row?.cost ?? 0n };
}

/**
 * Replaces the records of a month by their sums; a part of them may be gone when it fails (see
 * `replacePartition`). Throws an `OperatorError` when the records are being read for longer than half
 * a minute (a backup, a verification).
 */
export async function dropMonth(
  database: Database,
  span: MonthOfRecords,
  { nowMs, keep }: { readonly nowMs: number; readonly keep: KeepOfMonth },
): Promise<MonthSums> {
  const partition = partitionOf(span.month);
  return database.transaction(async (sql) => {
    await sql.query('SELECT pg_advisory_xact_lock($1)', [partitionLock]);
    await keep.lock(sql);
    if (await isThere(sql, partition)) {
      const placement = await database.place(sql);
      await placement.replacePartition(sql, {
        partition,
        tables: ['pruned_usage', 'pruned_usage_hour'],
        mark: (own) => markMonth(own, span),
        assertMarked: (own) => assertMarked(own, span.month),
        storeSums: (own, name) => storeSums(own, { ...span, partition: name }, keep),
        storeTotals: (own) => storeMonth(own, span, nowMs),
        drop: (own, name) => drop(own, { ...span, partition: name }),
      });
    }
    return readMonth(sql, span.month);
  });
}

/** From here on a settlement of the month that is repeated is recognised, wherever its account is. */
async function markMonth(sql: Sql, { month, startMs, endMs }: MonthOfRecords): Promise<void> {
  await sql.query(
    'INSERT INTO pruning_month (month, from_id, to_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
    [month, minIdAt(startMs), minIdAt(endMs)],
  );
}

interface PartitionOfMonth extends MonthOfRecords {
  /** The partition in SQL, or a part of it. */
  readonly partition: string;
}

/** Stores the sums of the records of a partition, to which none is added from here on. */
async function storeSums(sql: Sql, { month, partition }: PartitionOfMonth, keep: KeepOfMonth): Promise<void> {
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
  await keep.store(sql, { month, partition });
}

/** Stores what a month adds up to, from the sums of its accounts. */
async function storeMonth(sql: Sql, { month, startMs, endMs }: MonthOfRecords, nowMs: number): Promise<void> {
  const sums = sumsOf(
    await sql.query<Sums>(
      `SELECT coalesce(sum(requests), 0)::bigint AS records, coalesce(sum(cost), 0)::bigint AS cost
       FROM pruned_usage WHERE month = $1`,
      [month],
    ),
  );
  await sql.query(
    `INSERT INTO pruned_month (month, from_id, to_id, records, cost, pruned_at, digest)
     SELECT m.*, ${prunedMonthDigestSql}
     FROM (VALUES ($1::date, $2::uuid, $3::uuid, $4::bigint, $5::bigint, to_timestamp($6::float8 / 1000)))
          m (month, from_id, to_id, records, cost, pruned_at)
     LEFT JOIN ${prunedSumsSql('month = $1::date')} u ON u.month = m.month`,
    [month, minIdAt(startMs), minIdAt(endMs), sums.records, sums.costMicro, nowMs],
  );
  await sql.query('DELETE FROM pruning_month WHERE month = $1', [month]);
}

/** The sums of a month that was dropped. */
async function readMonth(sql: Sql, month: string): Promise<MonthSums> {
  return sumsOf(await sql.query<Sums>('SELECT records, cost FROM pruned_month WHERE month = $1', [month]));
}

/** Throws when a server does not show yet that a month is being dropped. */
async function assertMarked(sql: Sql, month: string): Promise<void> {
  const rows = await sql.query('SELECT FROM pruning_month WHERE month = $1', [month]);
  if (rows.length === 0)
    throw new OperatorError('a change has not reached every server of the cluster: try again later');
}

async function isThere(sql: Sql, table: string): Promise<boolean> {
  const [row] = await sql.query<{ found: boolean }>('SELECT to_regclass($1) IS NOT NULL AS found', [table]);
  return row?.found === true;
}

/** Drops the records of a partition. */
async function drop(sql: Sql, { month, partition }: PartitionOfMonth): Promise<void> {
  await sql.query(`SET LOCAL lock_timeout = ${lockWithinMs}`);
  for (let tries = 1; ; tries += 1) {
    await sql.query('SAVEPOINT before_drop');
    try {
      await sql.query(`DROP TABLE ${partition}`);
      await sql.query('SET LOCAL lock_timeout = 0');
      return;
    } catch (error) {
      if ((error as { code?: unknown }).code !== lockNotAvailable) throw error;
      if (tries === lockTries)
        throw new OperatorError(
          `the records of ${month.slice(0, 7)} are being read, by a backup or a verification: try again later`,
        );
      await sql.query('ROLLBACK TO SAVEPOINT before_drop');
    }
  }
}
