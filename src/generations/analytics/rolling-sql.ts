import type { Database } from '../../store/database.ts';
import type { Sql } from '../../store/sql.ts';
import { type HourSpan, idsOfSpan } from './facts-sql.ts';
import { rolledColumns, rowsOfPartition, rowsOfRecords, rowsOfTotals } from './rolled-rows-sql.ts';

/** An arbitrary constant: one process rolls up at a time. */
const rollupLock = 7_236_482_620;

const hourMs = 3_600_000;

/** The instant before which every hour is rolled up; null when none is. */
export async function readRolledUntil(sql: Sql): Promise<number | null> {
  const [row] = await sql.query<{ rolled_until: number }>('SELECT rolled_until FROM usage_rollup');
  return row?.rolled_until ?? null;
}

/** The beginnings of the Seoul days with usage, in order. */
export async function readUsedDays(sql: Sql): Promise<readonly number[]> {
  const rows = await sql.query<{ start: number }>(
    "SELECT DISTINCT day::timestamp AT TIME ZONE 'Asia/Seoul' AS start FROM key_usage_day ORDER BY 1",
  );
  return rows.map(({ start }) => start);
}

/** How long a statement of a rollup may take, and how long its transaction waits for those elsewhere. */
const rollTimeoutMs = 600_000;

/**
 * False when another process is rolling up, unless it is waited for. Run in a transaction, which
 * holds the lock.
 */
export async function lockRollup(sql: Sql, wait: boolean): Promise<boolean> {
  await sql.query(`SET LOCAL statement_timeout = ${rollTimeoutMs}`);
  await sql.query(`SET LOCAL idle_in_transaction_session_timeout = ${rollTimeoutMs}`);
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

/** A transaction that holds the lock, and its database. */
export interface Rolling {
  readonly database: Database;
  readonly sql: Sql;
}

/** Sets the instant before which every hour is rolled up. */
export async function setRolledUntil(sql: Sql, untilMs: number): Promise<void> {
  await sql.query(
    `INSERT INTO usage_rollup (rolled_until) VALUES ($1)
     ON CONFLICT (id) DO UPDATE SET rolled_until = excluded.rolled_until`,
    [instant(untilMs)],
  );
}

/** The sums of all accounts in a span. */
export async function sumHours(
  sql: Sql,
  { fromMs, toMs }: HourSpan,
): Promise<{ readonly requests: bigint; readonly cost: bigint }> {
  const [row] = await sql.query<{ requests: bigint; cost: bigint }>(
    `SELECT coalesce(sum(requests), 0)::bigint AS requests, coalesce(sum(cost), 0)::bigint AS cost FROM usage_hour
     WHERE account_id = 0 AND hour >= $1 AND hour < $2`,
    [instant(fromMs), instant(toMs)],
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
    await rollHours({ database, sql }, { fromMs: hour, toMs: hour + hourMs }, [...accounts]);
  }
  await sql.query(
    'DELETE FROM stale_hour WHERE account_id = ANY ($1::bigint[]) AND id = ANY ($2::bigint[])',
    [marks.map((mark) => mark.account_id), marks.map((mark) => mark.id)],
  );
  return marks.length;
}

/** The tables of accounts that hours are computed from and stored in. */
const tables = ['generation', 'key_usage_day', 'pruned_usage_hour', 'usage_hour'];

/**
 * Computes the hours of accounts (null: of all) in a span from the records, in place of what is
 * there, and those of all accounts together. Those of accounts may be
 * replaced before the transaction of the caller (see `changeParts`): until it ends, totals may be of
 * before.
 */
export async function rollHours(
  { database, sql }: Rolling,
  span: HourSpan,
  accounts: readonly bigint[] | null = null,
): Promise<void> {
  const placement = await database.place(sql);
  await placement.changeParts(sql, { accounts, tables, limitMs: rollTimeoutMs }, (ofPart) =>
    replaceHours(ofPart, span, accounts),
  );
  await replaceTotals(sql, span);
}

/** Run where the rows of the accounts are. */
async function replaceHours(sql: Sql, span: HourSpan, accounts: readonly bigint[] | null): Promise<void> {
  const [from, to] = [instant(span.fromMs), instant(span.toMs)];
  await sql.query(
    'DELETE FROM usage_hour WHERE account_id > 0 AND hour >= $1 AND hour < $2 AND ($3::bigint[] IS NULL OR account_id = ANY ($3::bigint[]))',
    [from, to, accounts],
  );
  await sql.query(
    `WITH ${rowsOfRecords.ctes} INSERT INTO usage_hour (${rolledColumns}) ${rowsOfRecords.select}`,
    [accounts, from, to, ...idsOfSpan(span)],
  );
}

async function replaceTotals(sql: Sql, { fromMs, toMs }: HourSpan): Promise<void> {
  const span = [instant(fromMs), instant(toMs)];
  await sql.query('DELETE FROM usage_hour WHERE account_id = 0 AND hour >= $1 AND hour < $2', span);
  await sql.query(
    `WITH ${rowsOfTotals.ctes} INSERT INTO usage_hour (${rolledColumns}) ${rowsOfTotals.select}`,
    span,
  );
}

function instant(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
