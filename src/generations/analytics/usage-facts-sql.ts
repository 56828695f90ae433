import type { Sql } from '../../store/sql.ts';
import {
  dimensionColumns,
  type HourSpan,
  type histogramColumns,
  idsOfSpan,
  recordFacts,
  settledIn,
  sumColumns,
} from './facts-sql.ts';
import { readRolledUntil } from './rolling-sql.ts';

/**
 * What usage is grouped and filtered by. Values are texts: ids of keys and apps, statuses, names.
 */
export const dimensions = {
  key: 'key_id::text',
  app: 'app_id::text',
  model: 'model',
  provider: 'provider',
  status: 'status::text',
  error: 'error_type',
  finish: 'finish_reason',
  outcome:
    "CASE WHEN status = 499 THEN 'cancelled' WHEN status >= 400 OR error_type <> '' THEN 'failed' ELSE 'ok' END",
} as const;
export type Dimension = keyof typeof dimensions;

/**
 * What distributions exist: milliseconds to the first token, milliseconds in all, tokens a second.
 */
export type Distribution = (typeof histogramColumns)[number];

/**
 * Which usage: of an account or of all (null), settled in [fromMs, toMs), which are widened to
 * whole hours. Where it is grouped or filtered by app, apps count as the owner of the account
 * merged them.
 */
export interface UsageQuery {
  readonly accountId: number | null;
  readonly fromMs: number;
  readonly toMs: number;
  /** The accepted values of dimensions; for all accounts there are no keys and apps. */
  readonly only?: Partial<Readonly<Record<Dimension, readonly string[]>>>;
}

/** What a query needs of the facts. */
interface FactsNeeded {
  readonly by?: Dimension | undefined;
  /** Histograms are most of a row. */
  readonly distribution?: Distribution;
}

const hourMs = 3_600_000;

/** Whether a row counts failures: as the lists of requests have it; a cancelled one is none. */
export const isFailed = "(status <> 499 AND (status >= 400 OR error_type <> ''))";

/**
 * Rows with the columns of `usage_hour` and `is_failed`, as SQL: of the rolled hours, and from the
 * records for the hours after them.
 */
export async function factsOf(
  sql: Sql,
  { accountId, fromMs, toMs, only = {} }: UsageQuery,
  { by, distribution }: FactsNeeded = {},
): Promise<{ readonly text: string; readonly values: unknown[] }> {
  const from = Math.floor(fromMs / hourMs) * hourMs;
  const to = Math.ceil(toMs / hourMs) * hourMs;
  const rolledUntil = Math.min(to, Math.max(from, (await readRolledUntil(sql)) ?? from));
  const values: unknown[] = [];
  const add = (value: unknown): string => `$${values.push(value)}`;
  const instant = (epochMs: number): string => `${add(new Date(epochMs).toISOString())}::timestamptz`;
  const account = `${add(accountId ?? 0)}::bigint`;
  const idsOf = (span: HourSpan) => {
    const [fromId, toId] = idsOfSpan(span);
    return { fromId: `${add(fromId)}::uuid`, toId: `${add(toId)}::uuid` };
  };
  const histograms = distribution === undefined ? [] : [`${distribution}_at`, `${distribution}_n`];
  const columns = ['hour', ...dimensionColumns, ...sumColumns, ...histograms].join(', ');
  const parts = [
    `SELECT ${columns} FROM usage_hour
     WHERE account_id = ${account} AND hour >= ${instant(from)} AND hour < ${instant(rolledUntil)}`,
  ];
  if (rolledUntil < to) {
    const live = {
      account: accountId === null ? null : account,
      ...idsOf({ fromMs: rolledUntil, toMs: to }),
      from: instant(rolledUntil),
      to: instant(to),
    };
    parts.push(
      `SELECT ${liveColumns(accountId === null, distribution)} FROM (${recordFacts(recordsSql(live))}) l`,
    );
  }
  const accepted = (Object.keys(only) as Dimension[]).map(
    (dimension) => `${dimensions[dimension]} = ANY (${add(only[dimension])}::text[])`,
  );
  const where = accepted.length === 0 ? '' : ` WHERE ${accepted.join(' AND ')}`;
  const facts = parts.join(' UNION ALL ');
  const areAppsNeeded = accountId !== null && (by === 'app' || only.app !== undefined);
  const counted = areAppsNeeded ? countedAsMerged(columns, facts, account) : facts;
  return { text: `SELECT *, ${isFailed} AS is_failed FROM (${counted}) u${where}`, values };
}

/** The facts with the app that each counts as. */
function countedAsMerged(columns: string, facts: string, account: string): string {
  const merged = columns.replace('app_id', 'coalesce(m.merged_into, f.app_id) AS app_id');
  return `SELECT ${merged} FROM (${facts}) f LEFT JOIN (
      SELECT app_id AS merged, merged_into FROM app_preference WHERE account_id = ${account} AND merged_into IS NOT NULL
    ) m ON m.merged = f.app_id`;
}

/**
 * Records that were settled from an instant to another; of all accounts those that used a key
 * since.
 */
function recordsSql({
  account,
  ...span
}: Omit<Parameters<typeof settledIn>[0], 'account'> & { readonly account: string | null }): string {
  if (account !== null) return `(${settledIn({ ...span, account })})`;
  return `(SELECT g.* FROM (
      SELECT DISTINCT account_id FROM key_usage_day WHERE day >= (${span.from} AT TIME ZONE 'Asia/Seoul')::date
    ) a JOIN LATERAL (${settledIn({ ...span, account: 'a.account_id' })}) g ON true)`;
}

function liveColumns(allAccounts: boolean, distribution: Distribution | undefined): string {
  const histograms =
    distribution === undefined
      ? []
      : [
          `CASE WHEN ${distribution} IS NULL THEN '{}' ELSE ARRAY[${distribution}] END AS ${distribution}_at`,
          `CASE WHEN ${distribution} IS NULL THEN '{}' ELSE ARRAY[1::bigint] END AS ${distribution}_n`,
        ];
  const names = dimensionColumns.map((name) =>
    allAccounts && (name === 'key_id' || name === 'app_id') ? `0::bigint AS ${name}` : name,
  );
  return ['hour', ...names, ...sumColumns, ...histograms].join(', ');
}
