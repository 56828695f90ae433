import type { Database } from '../store/database.ts';
import { inShards } from '../store/shard-views.ts';
import { readShards } from '../store/shards.ts';
import type { Sql } from '../store/sql.ts';
import { forgetDays, markDue } from './day-marks-sql.ts';
import { type HourSpan, idsOfSpan, ofAccounts, ofTotals } from './facts-sql.ts';
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

/**
 * Hours of one transaction, when there is much to catch up with. A shard has a part of the records,
 * and costs a connection.
 */
const hoursPerTransaction = { ofOneDatabase: 6, ofAShard: 24 };

/** Cuts a span into parts for one transaction each, within one Seoul day. */
export async function readCutter(sql: Sql): Promise<(span: HourSpan) => readonly HourSpan[]> {
  const { ofOneDatabase, ofAShard } = hoursPerTransaction;
  const partMs = ((await readShards(sql)).count > 1 ? ofAShard : ofOneDatabase) * hourMs;
  return ({ fromMs, toMs }) => {
    const parts: HourSpan[] = [];
    for (let at = fromMs; at < toMs; ) {
      const end = Math.min(toMs, (Math.floor((at + seoulOffsetMs) / partMs) + 1) * partMs - seoulOffsetMs);
      parts.push({ fromMs: at, toMs: end });
      at = end;
    }
    return parts;
  };
}

/** The instant before which every hour is rolled up; null when none is. */
export async function readRolledUntil(sql: Sql): Promise<number | null> {
  const [row] = await sql.query<{ rolled_until: number }>('SELECT rolled_until FROM usage_rollup');
  return row?.rolled_until ?? null;
}

/** The beginning of the first hour with usage; null when there is none. */
export async function firstHour(sql: Sql): Promise<number | null> {
  const [row] = await sql.query<{ start: number | null }>(
    "SELECT min(day)::timestamp AT TIME ZONE 'Asia/Seoul' AS start FROM key_usage_day",
  );
  return row?.start ?? null;
}

/** The parts of the Seoul days with usage or with rolled hours, as far as they are in a period. */
export async function usedSpans(
  sql: Sql,
  { fromMs = Number.NEGATIVE_INFINITY, toMs = Number.POSITIVE_INFINITY }: Partial<HourSpan>,
): Promise<readonly HourSpan[]> {
  const used = await sql.query<{ start: number }>(
    "SELECT DISTINCT day::timestamp AT TIME ZONE 'Asia/Seoul' AS start FROM key_usage_day",
  );
  const rolled = await sql.query<{ start: number }>(
    "SELECT DISTINCT date_trunc('day', hour, 'Asia/Seoul') AS start FROM usage_hour",
  );
  const starts = new Set([...used, ...rolled].map(({ start }) => start));
  const cut = await readCutter(sql);
  return [...starts]
    .sort((one, other) => one - other)
    .flatMap((start) => cut({ fromMs: Math.max(start, fromMs), toMs: Math.min(start + 24 * hourMs, toMs) }));
}

/** How long a statement of a rollup may take, which is more than a statement of a call. */
const rollTimeoutMs = 120_000;
/** How long the transaction with the lock waits for those of the shards. */
const shardsTimeoutMs = 600_000;

/**
 * False when another process is rolling up, unless it is waited for. Run in a transaction, which
 * holds the lock.
 */
export async function lockRollup(sql: Sql, wait = false): Promise<boolean> {
  await sql.query(`SET LOCAL statement_timeout = ${rollTimeoutMs}`);
  await sql.query(`SET LOCAL idle_in_transaction_session_timeout = ${shardsTimeoutMs}`);
  const lock = wait ? 'pg_advisory_xact_lock($1) IS NOT NULL' : 'pg_try_advisory_xact_lock($1)';
  const [row] = await sql.query<{ locked: boolean }>(`SELECT ${lock} AS locked`, [rollupLock]);
  return row?.locked === true;
}

/** Waits until no process is rolling up, and keeps them from it until the transaction ends. */
export async function holdRollups(sql: Sql): Promise<void> {
  await sql.query('SELECT pg_advisory_xact_lock($1)', [rollupLock]);
}

/** Keeps what the records of a month add up to by hour, before they are dropped. */
export const keepHours = {
  /** An hour is never computed from both, or from neither. */
  lock: holdRollups,
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

/** The tables of accounts that hours and days are computed from and stored in. */
const tables = ['generation', 'key_usage_day', 'pruned_usage_hour', 'usage_hour', 'usage_day'];

/** Calls `work` where the rows of these accounts (null: of all) are. */
export function atAccounts(
  rolling: Rolling,
  accounts: readonly bigint[] | null,
  work: (sql: Sql) => Promise<void>,
): Promise<void> {
  return inShards({ ...rolling, accounts, tables, limitMs: rollTimeoutMs }, work);
}

/** A transaction that holds the lock, and the database whose shards have the rows of accounts. */
export interface Rolling {
  readonly database: Database;
  readonly sql: Sql;
}

/** Computes the hours of a span from the records, in place of what is there. */
export async function rollSpan({ database, sql }: Rolling, span: HourSpan): Promise<void> {
  await replaceRows({ database, sql }, span, null);
  await setRolledUntil(sql, span.toMs);
}

/** Sets the instant before which every hour is rolled up. */
export async function setRolledUntil(sql: Sql, untilMs: number): Promise<void> {
  await sql.query(
    `INSERT INTO usage_rollup (rolled_until) VALUES ($1)
     ON CONFLICT (id) DO UPDATE SET rolled_until = excluded.rolled_until`,
    [instant(untilMs)],
  );
}

/** Computes the hours of a span again; returns their sums. */
export async function rollAgain(
  { database, sql }: Rolling,
  span: HourSpan,
): Promise<{ readonly requests: bigint; readonly cost: bigint }> {
  await replaceRows({ database, sql }, span, null);
  const [row] = await sql.query<{ requests: bigint; cost: bigint }>(
    `SELECT coalesce(sum(requests), 0)::bigint AS requests, coalesce(sum(cost), 0)::bigint AS cost FROM usage_hour
     WHERE account_id > 0 AND hour >= $1 AND hour < $2`,
    [instant(span.fromMs), instant(span.toMs)],
  );
  return row ?? { requests: 0n, cost: 0n };
}

/**
 * Computes again up to `limit` rolled hours that got records after they had ended; returns how many
 * marks there were.
 */
export async function rollStale({ database, sql }: Rolling, limit: number): Promise<number> {
  const until = await readRolledUntil(sql);
  if (until === null) return 0;
  const marks = await sql.query<{ id: bigint; account_id: bigint; hour: number }>(
    'SELECT id, account_id, hour FROM stale_hour WHERE hour < $1 ORDER BY id LIMIT $2',
    [instant(until), limit],
  );
  if (marks.length === 0) return 0;
  for (const [hour, ofHour] of Map.groupBy(marks, (mark) => mark.hour)) {
    const accounts = new Set(ofHour.map((mark) => mark.account_id));
    await replaceRows({ database, sql }, { fromMs: hour, toMs: hour + hourMs }, [...accounts]);
  }
  await sql.query(
    'DELETE FROM stale_hour WHERE account_id = ANY ($1::bigint[]) AND id = ANY ($2::bigint[])',
    [marks.map((mark) => mark.account_id), marks.map((mark) => mark.id)],
  );
  return marks.length;
}

/**
 * Computes the hours of accounts (null: of all) in a span again, and those of all accounts together.
 * Where accounts are distributed, those of each shard are replaced in a transaction of its own,
 * before that of the caller: until it ends, totals may be of before.
 */
async function replaceRows(
  { database, sql }: Rolling,
  span: HourSpan,
  accounts: readonly bigint[] | null,
): Promise<void> {
  await markDue(sql, span);
  await atAccounts({ database, sql }, accounts, (ofShard) => replaceHours(ofShard, span, accounts));
  await replaceTotals(sql, span);
}

/** Computes the hours of accounts (null: of all) in a span. Run where the rows of the accounts are. */
export async function replaceHours(
  sql: Sql,
  { fromMs, toMs }: HourSpan,
  accounts: readonly bigint[] | null,
): Promise<void> {
  await forgetDays(sql, { fromMs, toMs }, ofAccounts, accounts);
  await sql.query(
    `DELETE FROM usage_hour WHERE ${ofAccounts} AND hour >= $1 AND hour < $2 AND ($3::bigint[] IS NULL OR account_id = ANY ($3::bigint[]))`,
    [instant(fromMs), instant(toMs), accounts],
  );
  await sql.query(
    `WITH ${rowsOfRecords.ctes} INSERT INTO usage_hour (${rolledColumns}) ${rowsOfRecords.select}`,
    recordValues({ fromMs, toMs }, accounts),
  );
}

/** Computes the hours of all accounts together in a span, from theirs. */
export async function replaceTotals(sql: Sql, { fromMs, toMs }: HourSpan): Promise<void> {
  const span = [instant(fromMs), instant(toMs)];
  await forgetDays(sql, { fromMs, toMs }, ofTotals);
  await sql.query(`DELETE FROM usage_hour WHERE ${ofTotals} AND hour >= $1 AND hour < $2`, span);
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

export function instant(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
