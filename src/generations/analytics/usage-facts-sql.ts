import type { Sql } from '../../store/sql.ts';
import { tagMember } from '../generation.ts';
import {
  dimensionColumns,
  endUser,
  type HourSpan,
  type histogramColumns,
  idsOfSpan,
  recordFacts,
  settledIn,
  sumColumns,
  tagValue,
} from './facts-sql.ts';
import { readRolledUntil } from './rolling-sql.ts';

/**
 * What usage is grouped and filtered by. Values are texts: ids of keys and apps, statuses, names. The
 * last two are those of requests themselves (`user`, a member of `metadata`): any number of values, so
 * that they are read from the records and not rolled up.
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
  user: 'end_user',
  tag: 'tag',
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
  /** The accepted values of dimensions; for all accounts there are no keys, apps, users and tags. */
  readonly only?: Partial<Readonly<Record<Dimension, readonly string[]>>>;
  /** The member of `metadata` that the dimension `tag` is. */
  readonly tag?: string | undefined;
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
  { accountId, fromMs, toMs, only = {}, tag = '' }: UsageQuery,
  { by, distribution }: FactsNeeded = {},
): Promise<{ readonly text: string; readonly values: unknown[] }> {
  const from = Math.floor(fromMs / hourMs) * hourMs;
  const to = Math.ceil(toMs / hourMs) * hourMs;
  const ofRecords = (['user', 'tag'] as const).filter((name) => by === name || only[name] !== undefined);
  const rolledUntil =
    ofRecords.length > 0 ? from : Math.min(to, Math.max(from, (await readRolledUntil(sql)) ?? from));
  const values: unknown[] = [];
  const add = (value: unknown): string => `$${values.push(value)}`;
  const instant = (epochMs: number): string => `${add(new Date(epochMs).toISOString())}::timestamptz`;
  const account = `${add(accountId ?? 0)}::bigint`;
  const idsOf = (span: HourSpan) => {
    const [fromId, toId] = idsOfSpan(span);
    return { fromId: `${add(fromId)}::uuid`, toId: `${add(toId)}::uuid` };
  };
  const histograms = distribution === undefined ? [] : [`${distribution}_at`, `${distribution}_n`];
  const more = ofRecords.map((name) => dimensions[name]);
  const columns = ['hour', ...dimensionColumns, ...sumColumns, ...histograms];
  // What dropped records left has no user and no tag (null), and counts among all others.
  const rolled =
    ofRecords.length === 0
      ? { table: 'usage_hour', untilMs: rolledUntil }
      : { table: 'pruned_usage_hour', untilMs: to };
  const parts = [
    `SELECT ${[...columns, ...more.map((name) => `NULL::text AS ${name}`)].join(', ')} FROM ${rolled.table}
     WHERE account_id = ${account} AND hour >= ${instant(from)} AND hour < ${instant(rolled.untilMs)}`,
  ];
  if (rolledUntil < to) {
    const live = {
      account: accountId === null ? null : account,
      ...idsOf({ fromMs: rolledUntil, toMs: to }),
      from: instant(rolledUntil),
      to: instant(to),
    };
    const read = ofRecords.map(
      (name) =>
        `${name === 'user' ? endUser : tagValue(`${add(tagMember(tag))}::text`)} AS ${dimensions[name]}`,
    );
    const own = [liveColumns(accountId === null, distribution), ...more].join(', ');
    parts.push(`SELECT ${own} FROM (${recordFacts(recordsSql(live), read)}) l`);
  }
  const accepted = (Object.keys(only) as Dimension[]).map(
    (dimension) => `${dimensions[dimension]} = ANY (${add(only[dimension])}::text[])`,
  );
  const where = accepted.length === 0 ? '' : ` WHERE ${accepted.join(' AND ')}`;
  const facts = parts.join(' UNION ALL ');
  const areAppsNeeded = accountId !== null && (by === 'app' || only.app !== undefined);
  const counted = areAppsNeeded ? countedAsMerged([...columns, ...more].join(', '), facts, account) : facts;
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
