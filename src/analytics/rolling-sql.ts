import type { Sql } from '../store/sql.ts';
import { forgetDays } from './day-marks-sql.ts';
import { type HourSpan, idsOfSpan } from './facts-sql.ts';
import {
  cutsOfHours,
  rolledColumns,
  rowsOfPartition,
  rowsOfRecords,
  rowsOfTotals,
} from './rolled-rows-sql.ts';

/** An arbitrary constant: one process rolls up at a time. */
const rollupLock = 7_236_482_620;

const hourMs = 3_600_000;
const seoulOffsetMs = 9 * hourMs;

/** Hours of one transaction, when there is much to catch up with. */
const hoursPerTransaction = 6;

/** A long span in parts, each for one transaction and within one Seoul day. */
export function* spansOf(fromMs: number, toMs: number): Generator<HourSpan> {
  const partMs = hoursPerTransaction * hourMs;
  for (let at = fromMs; at < toMs; ) {
    const end = Math.min(toMs, (Math.floor((at + seoulOffsetMs) / partMs) + 1) * partMs - seoulOffsetMs);
    yield { fromMs: at, toMs: end };
    at = end;
  }
}

/** The instant before which every hour is rolled up; null when none is. */
export async function readRolledUntil(sql: Sql): Promise<number | null> {
  const [row] = await sql.query<{ rolled_until: number }>('SELECT rolled_until FROM usage_rollup');
  return row?.rolled_until ?? null;
}

/** The beginning of the first hour with usage that can be rolled up; null when there is none. */
export async function firstHour(sql: Sql): Promise<number | null> {
  const [row] = await sql.query<{ start: number | null }>(
    `SELECT greatest(min(day)::timestamp AT TIME ZONE 'Asia/Seoul', (${frozenUntilSql})) AS start FROM key_usage_day`,
  );
  return row?.start ?? null;
}

/**
 * The parts of the Seoul days with usage or with rolled hours, as far as they are in a period and
 * can be rolled up.
 */
export async function usedSpans(
  sql: Sql,
  { fromMs = Number.NEGATIVE_INFINITY, toMs = Number.POSITIVE_INFINITY }: Partial<HourSpan>,
): Promise<readonly HourSpan[]> {
  const rows = await sql.query<{ start: number; frozen_until: number | null }>(
    `SELECT day::timestamp AT TIME ZONE 'Asia/Seoul' AS start, (${frozenUntilSql}) AS frozen_until FROM (
       SELECT DISTINCT day FROM key_usage_day UNION SELECT DISTINCT (hour AT TIME ZONE 'Asia/Seoul')::date FROM usage_hour
     ) d ORDER BY day`,
  );
  return rows.flatMap(({ start, frozen_until: frozenUntil }) => [
    ...spansOf(Math.max(start, fromMs, frozenUntil ?? start), Math.min(start + 24 * hourMs, toMs)),
  ]);
}

/**
 * Null, or the instant before which hours cannot be computed again: earlier versions dropped months
 * of records and kept nothing of their hours. A request of such a month may have been settled on
 * the day after it.
 */
export const frozenUntilSql = `SELECT (max(month) + interval '1 month 1 day') AT TIME ZONE 'Asia/Seoul' FROM pruned_month
  WHERE records > 0 AND month NOT IN (SELECT DISTINCT month FROM pruned_usage_hour)`;

/** How long a statement of a rollup may take, which is more than a statement of a call. */
const rollTimeoutMs = 120_000;

/**
 * False when another process is rolling up, unless it is waited for. Run in a transaction, which
 * holds the lock.
 */
export async function lockRollup(sql: Sql, wait = false): Promise<boolean> {
  await sql.query(`SET LOCAL statement_timeout = ${rollTimeoutMs}`);
  const lock = wait ? 'pg_advisory_xact_lock($1) IS NOT NULL' : 'pg_try_advisory_xact_lock($1)';
  const [row] = await sql.query<{ locked: boolean }>(`SELECT ${lock} AS locked`, [rollupLock]);
  return row?.locked === true;
}

/** Keeps what the records of a month add up to by hour, before they are dropped. */
export const keepHours = {
  /** An hour is never computed from both, or from neither. Run in a transaction, which holds it. */
  async lock(sql: Sql): Promise<void> {
    await sql.query('SELECT pg_advisory_xact_lock($1)', [rollupLock]);
  },
  /** Run in the transaction that drops the partition. */
  async store(
    sql: Sql,
    { month, partition }: { readonly month: string; readonly partition: string },
  ): Promise<void> {
    const { ctes, select } = rowsOfPartition(partition);
    await sql.query(
      `WITH ${ctes} INSERT INTO pruned_usage_hour (month, ${rolledColumns}) SELECT $1::date, r.* FROM (${select}) r`,
      [month],
    );
  },
};

/**
 * Computes the hours of a span from the records, in place of what is there. Run in a transaction
 * that has the lock.
 */
export async function rollSpan(sql: Sql, span: HourSpan): Promise<void> {
  await replaceRows(sql, span, null);
  await sql.query(
    `INSERT INTO usage_rollup (rolled_until) VALUES ($1)
     ON CONFLICT (id) DO UPDATE SET rolled_until = greatest(usage_rollup.rolled_until, excluded.rolled_until)`,
    [instant(span.toMs)],
  );
}

/**
 * Computes the hours of a span again; returns their sums. Run in a transaction that has the lock.
 */
export async function rollAgain(
  sql: Sql,
  span: HourSpan,
): Promise<{ readonly requests: bigint; readonly cost: bigint }> {
  await replaceRows(sql, span, null);
  const [row] = await sql.query<{ requests: bigint; cost: bigint }>(
    `SELECT coalesce(sum(requests), 0)::bigint AS requests, coalesce(sum(cost), 0)::bigint AS cost FROM usage_hour
     WHERE account_id > 0 AND hour >= $1 AND hour < $2`,
    [instant(span.fromMs), instant(span.toMs)],
  );
  return row ?? { requests: 0n, cost: 0n };
}

/**
 * Computes again up to `limit` rolled hours that got records after they had ended; returns how many
 * hours of accounts there were. Run in a transaction that has the lock.
 */
export async function rollStale(sql: Sql, limit: number): Promise<number> {
  const marks = await sql.query<{ account_id: bigint; hour: number }>(
    `WITH due AS (SELECT id FROM stale_hour WHERE hour < (SELECT rolled_until FROM usage_rollup) ORDER BY id LIMIT $1),
     gone AS (DELETE FROM stale_hour WHERE id IN (SELECT id FROM due) RETURNING account_id, hour)
     SELECT DISTINCT account_id, hour FROM gone WHERE hour >= coalesce((${frozenUntilSql}), '-infinity')`,
    [limit],
  );
  for (const [hour, ofHour] of Map.groupBy(marks, (mark) => mark.hour))
    await replaceRows(
      sql,
      { fromMs: hour, toMs: hour + hourMs },
      ofHour.map((mark) => mark.account_id),
    );
  return marks.length;
}

/**
 * Computes the hours of accounts (null: of all) in a span again, and those of all accounts
 * together. Run in a transaction that has the lock.
 */
export async function replaceRows(
  sql: Sql,
  { fromMs, toMs }: HourSpan,
  accounts: readonly bigint[] | null,
): Promise<void> {
  await forgetDays(sql, { fromMs, toMs }, accounts);
  const span = [instant(fromMs), instant(toMs)];
  await sql.query(
    `DELETE FROM usage_hour WHERE hour >= $1 AND hour < $2 AND ($3::bigint[] IS NULL OR account_id = 0 OR account_id = ANY ($3::bigint[]))`,
    [...span, accounts],
  );
  await sql.query(
    `WITH ${rowsOfRecords.ctes} INSERT INTO usage_hour (${rolledColumns}) ${rowsOfRecords.select}`,
    recordValues({ fromMs, toMs }, accounts),
  );
  await sql.query(
    `WITH ${rowsOfTotals.ctes} INSERT INTO usage_hour (${rolledColumns}) ${rowsOfTotals.select}`,
    span,
  );
  await insertCutsOfHours(sql, { fromMs, toMs });
}

/** Adds the cuts of the hours of all accounts together, which have none. */
export async function insertCutsOfHours(sql: Sql, { fromMs, toMs }: HourSpan): Promise<void> {
  await sql.query(
    `WITH ${cutsOfHours.ctes} INSERT INTO usage_hour (${rolledColumns}) ${cutsOfHours.select}`,
    [instant(fromMs), instant(toMs)],
  );
}

/** The values of `rowsOfRecords`. */
export function recordValues(span: HourSpan, accounts: readonly bigint[] | null): readonly unknown[] {
  return [accounts, instant(span.fromMs), instant(span.toMs), ...idsOfSpan(span)];
}

/** A number above those of all transactions that have written anything so far. */
export async function nextTransaction(sql: Sql): Promise<bigint> {
  const [row] = await sql.query<{ id: string }>('SELECT pg_current_xact_id()::text AS id');
  return BigInt(row?.id ?? 0);
}

/** Every transaction with a lower number has ended. */
export async function oldestTransaction(sql: Sql): Promise<bigint> {
  const [row] = await sql.query<{ id: string }>('SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS id');
  return BigInt(row?.id ?? 0);
}

export function instant(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
