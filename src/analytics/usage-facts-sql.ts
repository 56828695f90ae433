import type { Sql } from '../store/sql.ts';
import { cutOf, keyOfAll } from './cuts.ts';
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
import { spansOfDays } from './seoul-days.ts';

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
  /**
   * Histograms are most of a row. Where a cut has what is asked for, its rows are read: dimensions
   * other than `by` are empty, and `is_failed` means nothing.
   */
  readonly distribution?: Distribution;
  readonly areFailuresNeeded?: boolean;
  /** Each hour apart; otherwise whole days may be read as one. */
  readonly areHoursApart?: boolean;
}

const hourMs = 3_600_000;

/** Whether a row counts failures: as the lists of requests have it; a cancelled one is none. */
export const isFailed = "(status <> 499 AND (status >= 400 OR error_type <> ''))";

/**
 * Rows with the columns of `usage_hour` and `is_failed`, as SQL: the rolled days (`hour` is their beginning), the
 * rolled hours of other times, and rows from the records for the hours that are not rolled up. To
 * be run as one statement: what it reads of days and of hours is of one moment.
 */
export async function factsOf(
  sql: Sql,
  { accountId, fromMs, toMs, only = {} }: UsageQuery,
  { by, distribution, areFailuresNeeded = false, areHoursApart = false }: FactsNeeded = {},
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
  const rest = [...dimensionColumns, ...sumColumns, ...histograms].join(', ');
  const columns = `hour, ${rest}`;
  const parts: string[] = [];
  const cut = distribution === undefined || areFailuresNeeded ? null : cutOf(by, only);
  if (!areHoursApart) {
    const areKeysApart = accountId !== null && areKeysNeeded(by, only);
    const of = { account, add, columns, rest, areKeysApart, cut };
    parts.push(...rolledParts(spansOfDays(from, rolledUntil), of));
  } else {
    // Only the hours of all accounts together have cuts.
    const ofKeys = cut === null || accountId !== null ? `key_id >= ${keyOfAll}` : `key_id = ${cut}`;
    parts.push(
      `SELECT ${columns} FROM usage_hour
       WHERE account_id = ${account} AND ${ofKeys} AND hour >= ${instant(from)} AND hour < ${instant(rolledUntil)}`,
    );
  }
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

/** Whether a query tells keys or apps apart. */
function areKeysNeeded(by: Dimension | undefined, only: NonNullable<UsageQuery['only']>): boolean {
  const ofKeys: readonly Dimension[] = ['key', 'app'];
  return ofKeys.some((dimension) => by === dimension || only[dimension] !== undefined);
}

/**
 * The rolled usage of spans: days that are summed, and the hours of days that are not. Unless keys
 * are apart, of the days the rows without keys and apps: they are a fraction of the others.
 */
function rolledParts(
  spans: ReturnType<typeof spansOfDays>,
  {
    account,
    add,
    columns,
    rest,
    areKeysApart,
    cut,
  }: {
    readonly account: string;
    readonly add: (value: unknown) => string;
    readonly columns: string;
    readonly rest: string;
    readonly areKeysApart: boolean;
    readonly cut: number | null;
  },
): readonly string[] {
  const ofKeys = areKeysApart ? `key_id > ${keyOfAll}` : `key_id = ${keyOfAll}`;
  const whole = spans.flatMap(({ day }) => day ?? []);
  const [first, last] = [whole[0], whole.at(-1)];
  const instants = (list: readonly number[]): string =>
    `${add(list.map((epochMs) => new Date(epochMs).toISOString()))}::timestamptz[]`;
  const hours = `SELECT ${columns} FROM unnest(${instants(spans.map(({ fromMs }) => fromMs))}, ${instants(spans.map(({ toMs }) => toMs))},
       ${add(spans.map(({ day }) => day))}::date[]) s (from_at, to_at, summed_day)
     CROSS JOIN LATERAL (
       SELECT ${columns} FROM usage_hour WHERE account_id = ${account} AND key_id >= ${keyOfAll} AND hour >= s.from_at AND hour < s.to_at
     ) h WHERE s.summed_day IS NULL
       OR (SELECT d.day FROM usage_day d WHERE d.account_id = ${account} AND d.day = s.summed_day AND d.${ofKeys} LIMIT 1) IS NULL`;
  if (first === undefined || last === undefined) return [hours];
  const ofDays = `account_id = ${account} AND day >= ${add(first)}::date AND day <= ${add(last)}::date`;
  const days = `SELECT d.day::timestamp AT TIME ZONE 'Asia/Seoul' AS hour, ${rest} FROM`;
  return [`${days} usage_day d WHERE ${ofDays} AND ${cut === null ? ofKeys : `key_id = ${cut}`}`, hours];
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
