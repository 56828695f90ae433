import type { Sql } from '../store/sql.ts';
import { keyOfAll } from './cuts.ts';
import {
  type HourSpan,
  histogramColumns,
  ofAccounts,
  ofTotals,
  type RowsOf,
  sumColumns,
} from './facts-sql.ts';
import {
  cutsOfDay,
  cutsOfHours,
  dayColumns,
  type RolledRows,
  rolledColumns,
  rolledGroups,
  rowsOfDay,
  rowsOfRecords,
  rowsOfTotals,
} from './rolled-rows-sql.ts';
import { instant, readRolledUntil, recordValues } from './rolling-sql.ts';

/** What disagrees, and the two values. */
export interface UsageDifference {
  readonly check: string;
  readonly subject: string;
  readonly expected: string;
  readonly found: string;
}

/** The checks of the rollups against what they were made from. */
export const usageChecks = {
  records: 'an hour = its records, and what dropped records left',
  totals: 'an hour of all accounts = the sum of its accounts',
  cuts: 'a cut = the sum of its rows',
  days: 'a day = the sum of its hours',
  ledger: 'the cost of an hour = its usage entries in the ledger',
  pruned: 'what dropped records left by hour = what they left by day',
} as const;

/** How many differences of one check are reported. */
const maxDifferences = 100;

const dayMs = 86_400_000;
const values = [...sumColumns, ...histogramColumns.flatMap((name) => [`${name}_at`, `${name}_n`])];
const hourText = "to_char(hour AT TIME ZONE 'Asia/Seoul', 'YYYY-MM-DD HH24:00')";
/**
 * Not an hour of an account that got a record after it was rolled up, which is about to be computed
 * again.
 */
const isNotDue = '(account_id, hour) NOT IN (SELECT account_id, hour FROM stale_hour)';

/** Makes the transaction see the database as it is at its next statement. */
export async function freezeUsage(sql: Sql): Promise<void> {
  await sql.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY');
}

/** How many hours of accounts wait to be computed again. */
export async function countDueHours(sql: Sql): Promise<number> {
  const until = await readRolledUntil(sql);
  if (until === null) return 0;
  const rows = await sql.query('SELECT DISTINCT account_id, hour FROM stale_hour WHERE hour < $1', [
    instant(until),
  ]);
  return rows.length;
}

/** Compares the hours of accounts in a span with the records. Run where the rows of accounts are. */
export function checkHours(sql: Sql, span: HourSpan): Promise<readonly UsageDifference[]> {
  return differing(sql, {
    check: usageChecks.records,
    rows: rowsOfRecords,
    values: recordValues(span, null),
    found: `SELECT ${rolledColumns} FROM usage_hour WHERE ${ofAccounts} AND hour >= $2 AND hour < $3`,
  });
}

/** Compares the totals of a span with its accounts. */
export async function checkTotals(sql: Sql, span: HourSpan): Promise<readonly UsageDifference[]> {
  const values = [instant(span.fromMs), instant(span.toMs)];
  return [
    ...(await differing(sql, {
      check: usageChecks.totals,
      rows: rowsOfTotals,
      values,
      found: `SELECT ${rolledColumns} FROM usage_hour WHERE ${ofTotals} AND key_id = ${keyOfAll} AND hour >= $1 AND hour < $2`,
    })),
    ...(await differing(sql, {
      check: usageChecks.cuts,
      rows: cutsOfHours,
      values,
      found: `SELECT ${rolledColumns} FROM usage_hour WHERE ${ofTotals} AND key_id < ${keyOfAll} AND hour >= $1 AND hour < $2`,
    })),
  ];
}

/** The beginnings of the days of which these rows have sums, and their accounts. */
export async function summedDays(
  sql: Sql,
  rows: RowsOf,
): Promise<readonly { readonly startMs: number; readonly accounts: readonly bigint[] }[]> {
  const found = await sql.query<{ start: number; accounts: bigint[] }>(
    `SELECT day::timestamp AT TIME ZONE 'Asia/Seoul' AS start, array_agg(DISTINCT account_id) AS accounts
     FROM usage_day WHERE ${rows} GROUP BY day ORDER BY day`,
  );
  return found.map(({ start, accounts }) => ({ startMs: start, accounts }));
}

/** Compares the sums of a day of these accounts with its hours. */
export async function checkDay(
  sql: Sql,
  { startMs, accounts }: Awaited<ReturnType<typeof summedDays>>[number],
): Promise<readonly UsageDifference[]> {
  const day = { values: [instant(startMs), instant(startMs + dayMs), accounts] };
  const found = `SELECT ${dayColumns.replace('day', '$1::timestamptz AS hour')} FROM usage_day
       WHERE account_id = ANY ($3::bigint[]) AND day = ($1::timestamptz AT TIME ZONE 'Asia/Seoul')::date`;
  return [
    ...(await differing(sql, {
      ...day,
      check: usageChecks.days,
      rows: rowsOfDay,
      found: `${found} AND key_id >= ${keyOfAll}`,
    })),
    ...(await differing(sql, {
      ...day,
      check: usageChecks.cuts,
      rows: cutsOfDay,
      found: `${found} AND key_id < ${keyOfAll}`,
      isMeant: 'account_id IN (SELECT account_id FROM found)',
    })),
  ];
}

async function differing(
  sql: Sql,
  {
    check,
    rows: { ctes, select },
    values: parameters,
    found,
    isMeant = 'true',
  }: {
    readonly check: string;
    readonly rows: RolledRows;
    readonly values: readonly unknown[];
    readonly found: string;
    /** Which expected rows are compared. */
    readonly isMeant?: string;
  },
): Promise<readonly UsageDifference[]> {
  const row = (of: string): string => `ROW(${values.map((name) => `${of}.${name}`).join(', ')})`;
  const text = (of: string): string =>
    `CASE WHEN ${of}.requests IS NULL THEN 'nothing' ELSE ${row(of)}::text END`;
  const rows = await sql.query<Omit<UsageDifference, 'check'>>(
    `WITH ${ctes}, found AS (${found}), expected AS (SELECT * FROM (${select}) e WHERE ${isMeant})
     SELECT concat_ws(', ', CASE account_id WHEN 0 THEN 'all accounts' ELSE 'account ' || account_id END, ${hourText} || ' (KST)',
              'key ' || key_id, 'app ' || app_id, nullif(model, ''), nullif(provider, ''), 'status ' || status,
              nullif(error_type, ''), nullif(finish_reason, '')) AS subject,
            ${text('expected')} AS expected, ${text('found')} AS found
     FROM expected FULL JOIN found USING (${rolledGroups})
     WHERE ${row('expected')} IS DISTINCT FROM ${row('found')}
       AND ${isNotDue}
     LIMIT ${maxDifferences}`,
    parameters,
  );
  return rows.map((one) => ({ check, ...one }));
}

/** Compares the cost of each hour of each account with the ledger, before and from an instant. */
export async function checkLedger(sql: Sql, span: HourSpan): Promise<readonly UsageDifference[]> {
  const rows = await sql.query<Omit<UsageDifference, 'check'>>(
    `WITH entry AS (
       SELECT account_id, date_trunc('hour', created_at, 'UTC') AS hour, -sum(amount) AS cost FROM ledger
       WHERE generation_id IS NOT NULL AND created_at >= $1 AND created_at < $2 GROUP BY 1, 2
     ), rolled AS (
       SELECT account_id, hour, sum(cost) AS cost FROM usage_hour
       WHERE account_id > 0 AND cost > 0 AND hour >= $1 AND hour < $2 GROUP BY 1, 2
     )
     SELECT concat_ws(', ', 'account ' || account_id, ${hourText} || ' (KST)') AS subject,
            coalesce(entry.cost, 0)::text AS expected, coalesce(rolled.cost, 0)::text AS found
     FROM entry FULL JOIN rolled USING (account_id, hour)
     WHERE entry.cost IS DISTINCT FROM rolled.cost AND ${isNotDue}
     ORDER BY hour, account_id LIMIT ${maxDifferences}`,
    [instant(span.fromMs), instant(span.toMs)],
  );
  return rows.map((one) => ({ check: usageChecks.ledger, ...one }));
}

/**
 * Compares what dropped records left by hour with what they left by day; the ledger is verified
 * with the latter.
 */
export async function checkPruned(sql: Sql): Promise<readonly UsageDifference[]> {
  const sums = (of: string): string =>
    `ROW(${['requests', 'cost', 'prompt', 'completion'].map((name) => `${of}.${name}`).join(', ')})`;
  const summed =
    'sum(requests) AS requests, sum(cost) AS cost, sum(prompt_tokens) AS prompt, sum(completion_tokens) AS completion';
  const rows = await sql.query<Omit<UsageDifference, 'check'>>(
    `WITH days AS (
       SELECT month, account_id, key_id, app_id, day, ${summed} FROM pruned_usage GROUP BY 1, 2, 3, 4, 5
     ), hours AS (
       SELECT month, account_id, key_id, app_id, (hour AT TIME ZONE 'Asia/Seoul')::date AS day, ${summed}
       FROM pruned_usage_hour GROUP BY 1, 2, 3, 4, 5
     )
     SELECT concat_ws(', ', 'account ' || account_id, day, 'key ' || key_id, 'app ' || app_id, 'dropped month ' || month) AS subject,
            coalesce(${sums('days')}::text, 'nothing') AS expected, coalesce(${sums('hours')}::text, 'nothing') AS found
     FROM days FULL JOIN hours USING (month, account_id, key_id, app_id, day)
     WHERE ${sums('days')} IS DISTINCT FROM ${sums('hours')} AND month IN (SELECT month FROM pruned_usage_hour)
     ORDER BY day, account_id LIMIT ${maxDifferences}`,
  );
  return rows.map((one) => ({ check: usageChecks.pruned, ...one }));
}
