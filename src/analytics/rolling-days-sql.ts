import type { Sql } from '../store/sql.ts';
import { cutKeys, keyOfAll } from './cuts.ts';
import { markChecked } from './day-marks-sql.ts';
import { ofAccounts, ofTotals, type RowsOf, sumColumns } from './facts-sql.ts';
import { cutsOfDay, dayColumns, rolledColumns, rowsOfDay } from './rolled-rows-sql.ts';
import { atAccounts, instant, type Rolling, replaceHours, replaceTotals } from './rolling-sql.ts';
import { dayText } from './seoul-days.ts';

const dayMs = 86_400_000;
/** Accounts of a day that are computed again at once. */
const maxDiffering = 1_000;

interface DayOptions {
  /** Accounts with fewer rows of hours have no sums: reading the hours costs as little. */
  readonly minRows: number;
  readonly nowMs: number;
}

/**
 * Checks a closed day and sums it: its hours against what the keys used, its sums against its
 * hours; what differs is computed again. Returns for how many accounts something differed.
 */
export async function rollDay(
  { database, sql }: Rolling,
  startMs: number,
  { minRows, nowMs }: DayOptions,
): Promise<number> {
  const span = { fromMs: startMs, toMs: startMs + dayMs };
  let [differing, wrong] = [0, 0];
  await atAccounts({ database, sql }, null, async (ofShard) => {
    const accounts = await accountsThatDiffer(ofShard, startMs);
    if (accounts.length > 0) await replaceHours(ofShard, span, accounts);
    const wrongOfShard = await deleteWrongSums(ofShard, startMs, ofAccounts);
    differing += accounts.length;
    wrong += wrongOfShard;
    await sumDay(ofShard, startMs, minRows, ofAccounts);
  });
  if (differing > 0) await replaceTotals(sql, span);
  const wrongTotals = await deleteWrongSums(sql, startMs, ofTotals);
  await sumDay(sql, startMs, minRows, ofTotals);
  await markChecked(sql, startMs, nowMs);
  return differing + wrong + wrongTotals;
}

/** Sums the hours of a day, of those accounts that have no sums of it. */
async function sumDay(sql: Sql, startMs: number, minRows: number, rows: RowsOf): Promise<void> {
  const hours = [instant(startMs), instant(startMs + dayMs)];
  const large = await sql.query<{ account_id: bigint }>(
    `SELECT account_id FROM usage_hour WHERE ${rows} AND hour >= $1 AND hour < $2
     GROUP BY account_id HAVING count(*) >= $3`,
    [...hours, minRows],
  );
  const summed = await sql.query<{ account_id: bigint }>(
    `SELECT DISTINCT account_id FROM usage_day WHERE ${rows} AND day = $1::date`,
    [dayText(startMs)],
  );
  const known = new Set(summed.map((row) => row.account_id));
  const accounts = large.flatMap((row) => (known.has(row.account_id) ? [] : [row.account_id]));
  if (accounts.length === 0) return;
  for (const { ctes, select } of [rowsOfDay, cutsOfDay])
    await sql.query(
      `WITH ${ctes}, summed AS (${select})
       INSERT INTO usage_day (${dayColumns}) SELECT ${rolledColumns.replace('hour', '$4::date')} FROM summed`,
      [...hours, accounts, dayText(startMs)],
    );
}

/** Accounts whose hours of a day differ from what their keys used. */
async function accountsThatDiffer(sql: Sql, startMs: number): Promise<readonly bigint[]> {
  const rows = await sql.query<{ account_id: bigint }>(
    `WITH used AS (
       SELECT account_id, key_id, requests, cost FROM key_usage_day
       WHERE day = $3::date
     ), rolled AS (
       SELECT account_id, key_id, sum(requests) AS requests, sum(cost) AS cost FROM usage_hour
       WHERE account_id > 0 AND hour >= $1::timestamptz AND hour < $2::timestamptz GROUP BY 1, 2
     )
     SELECT DISTINCT account_id FROM used LEFT JOIN rolled USING (account_id, key_id)
     WHERE used.requests IS DISTINCT FROM rolled.requests OR used.cost IS DISTINCT FROM rolled.cost
     LIMIT ${maxDiffering}`,
    [instant(startMs), instant(startMs + dayMs), dayText(startMs)],
  );
  return rows.map((row) => row.account_id);
}

/** How often a day of all accounts is in the table: without keys, and once for each cut. */
const timesWithoutKeys = 1 + Object.keys(cutKeys).length;

/**
 * Deletes the sums of a day that differ from its hours, by key, without keys or in a cut, or of which
 * one is not there; returns of how many accounts.
 */
async function deleteWrongSums(sql: Sql, startMs: number, own: RowsOf): Promise<number> {
  const summed = sumColumns.map((name) => `sum(${name}) AS ${name}`).join(', ');
  const row = (of: string): string => `ROW(${sumColumns.map((name) => `${of}.${name}`).join(', ')})`;
  const rows = await sql.query<{ account_id: bigint }>(
    `SELECT account_id FROM (SELECT account_id, ${summed} FROM usage_day WHERE ${own} AND day = $3::date GROUP BY account_id, least(key_id, 1)) d
     LEFT JOIN LATERAL (
       SELECT ${summed} FROM usage_hour h WHERE h.account_id = d.account_id AND h.${own} AND h.key_id >= ${keyOfAll} AND hour >= $1::timestamptz AND hour < $2::timestamptz
     ) h ON true
     GROUP BY account_id HAVING bool_or(${row('d')} IS DISTINCT FROM ${row('h')}) OR count(*) < ${timesWithoutKeys} + CASE account_id WHEN 0 THEN 0 ELSE 1 END`,
    [instant(startMs), instant(startMs + dayMs), dayText(startMs)],
  );
  if (rows.length > 0)
    await sql.query('DELETE FROM usage_day WHERE day = $1::date AND account_id = ANY ($2::bigint[])', [
      dayText(startMs),
      rows.map((found) => found.account_id),
    ]);
  return rows.length;
}
