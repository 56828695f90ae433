import type { Sql } from '../store/sql.ts';
import {
  dimensionColumns,
  type HourSpan,
  type histogramColumns,
  idsOfSpan,
  recordFacts,
  settledIn,
  sumColumns,
} from './facts-sql.ts';
import { centreOf } from './histogram.ts';
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
} as const;
export type Dimension = keyof typeof dimensions;

/** The steps of a series; days, weeks (from Monday) and months are Seoul's. */
export const steps = ['hour', 'day', 'week', 'month'] as const;
export type Step = (typeof steps)[number];

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

/** Sums of usage. Cost in micro-won. */
export interface UsageSums {
  readonly requests: bigint;
  /** Requests with a status of 400 and above. */
  readonly failures: bigint;
  readonly cost: bigint;
  readonly promptTokens: bigint;
  readonly completionTokens: bigint;
  readonly reasoningTokens: bigint;
  readonly cachedTokens: bigint;
}

/** What groups are ranked by. */
export type Ranking = keyof UsageSums;

/**
 * The sums of one value of a dimension; `value` is null for all values that are not among the
 * first.
 */
export interface UsageGroup extends UsageSums {
  readonly value: string | null;
}

/** The sums of one step; `value` as in `UsageGroup`, null without a dimension. */
export interface UsagePoint extends UsageGroup {
  readonly startMs: number;
}

/** Percentiles of one step. */
export interface PercentilePoint {
  readonly startMs: number;
  readonly value: string | null;
  readonly count: bigint;
  readonly p50: number;
  readonly p95: number;
}

const hourMs = 3_600_000;

export const sumsSql = `sum(requests)::bigint AS requests, (sum(requests) FILTER (WHERE status >= 400))::bigint AS failures,
  ${sumColumns
    .slice(1)
    .map((name) => `sum(${name})::bigint AS ${name}`)
    .join(', ')}`;
const rankingSql: Readonly<Record<Ranking, string>> = {
  requests: 'sum(requests)',
  failures: 'sum(requests) FILTER (WHERE status >= 400)',
  cost: 'sum(cost)',
  promptTokens: 'sum(prompt_tokens)',
  completionTokens: 'sum(completion_tokens)',
  reasoningTokens: 'sum(reasoning_tokens)',
  cachedTokens: 'sum(cached_tokens)',
};

export interface RawSums {
  readonly requests: bigint | null;
  readonly failures: bigint | null;
  readonly cost: bigint | null;
  readonly prompt_tokens: bigint | null;
  readonly completion_tokens: bigint | null;
  readonly reasoning_tokens: bigint | null;
  readonly cached_tokens: bigint | null;
}

/** The sums of all usage. */
export async function usageTotals(sql: Sql, query: UsageQuery): Promise<UsageSums> {
  const { text, values } = await factsOf(sql, query);
  const [row] = await sql.query<RawSums>(`WITH facts AS (${text}) SELECT ${sumsSql} FROM facts`, values);
  return sumsOf(row);
}

/** The `limit` first values of a dimension by a sum, and the rest as one. */
export async function usageBy(
  sql: Sql,
  query: UsageQuery,
  { by, limit, ranking }: { readonly by: Dimension; readonly limit: number; readonly ranking: Ranking },
): Promise<readonly UsageGroup[]> {
  const { text, values } = await factsOf(sql, query, by);
  const rows = await sql.query<RawSums & { value: string | null }>(
    `WITH ${namedFacts(summed(text, "'-infinity'::timestamptz", by), { by, limit, ranking })}
     SELECT value, ${sumsSql} FROM named GROUP BY value ORDER BY value IS NULL, ${rankingSql[ranking]} DESC NULLS LAST, value`,
    values,
  );
  return rows.map((row) => ({ value: row.value, ...sumsOf(row) }));
}

/**
 * The usage of one model at one provider. Answers that broke off, which are free, have sums of
 * their own.
 */
export interface SourceUsage extends UsageSums {
  readonly model: string;
  readonly provider: string;
  readonly isBroken: boolean;
}

/** More than any catalogue has. */
const maxSources = 20_000;

/** The sums of each model at each provider that responded. */
export async function usageBySource(sql: Sql, query: UsageQuery): Promise<readonly SourceUsage[]> {
  const { text, values } = await factsOf(sql, query);
  const rows = await sql.query<RawSums & { model: string; provider: string; broken: boolean }>(
    `WITH facts AS (${text})
     SELECT model, provider, error_type <> '' OR finish_reason = 'error' AS broken, ${sumsSql} FROM facts WHERE provider <> ''
     GROUP BY 1, 2, 3 ORDER BY ${rankingSql.cost} DESC LIMIT ${maxSources}`,
    values,
  );
  return rows.map(({ model, provider, broken, ...row }) => ({
    model,
    provider,
    isBroken: broken,
    ...sumsOf(row),
  }));
}

/** The sums of each step with usage, in all or of the first values of a dimension and the rest. */
export async function usageSeries(
  sql: Sql,
  query: UsageQuery,
  series: { readonly step: Step; readonly groups?: Parameters<typeof usageBy>[2] },
): Promise<readonly UsagePoint[]> {
  const { text, values } = await factsOf(sql, query, series.groups?.by);
  const rows = await sql.query<RawSums & { value: string | null; start: number }>(
    `WITH ${namedFacts(summed(text, startSql(series.step), series.groups?.by), series.groups)}
     SELECT hour AS start, value, ${sumsSql} FROM named GROUP BY 1, 2 ORDER BY 1, 2`,
    values,
  );
  return rows.map((row) => ({ startMs: row.start, value: row.value, ...sumsOf(row) }));
}

/**
 * The percentiles of each step with values, or of the whole span (`step` null); groups as in
 * `usageSeries`.
 */
export async function usagePercentiles(
  sql: Sql,
  query: UsageQuery,
  of: {
    readonly distribution: Distribution;
    readonly step: Step | null;
    readonly groups?: Parameters<typeof usageBy>[2];
  },
): Promise<readonly PercentilePoint[]> {
  const { text, values } = await factsOf(sql, query, of.groups?.by, of.distribution);
  const start = of.step === null ? "'-infinity'::timestamptz" : startSql(of.step);
  const rows = await sql.query<{
    start: number;
    value: string | null;
    total: bigint;
    p50: number;
    p95: number;
  }>(
    `WITH ${namedFacts(text, of.groups, false)},
     -- OFFSET keeps the step from being computed again for each bucket.
     timed AS (
       SELECT ${start} AS start, value, ${of.distribution}_at AS buckets, ${of.distribution}_n AS counts FROM named OFFSET 0
     ), merged AS (
       SELECT start, value, u.at, sum(u.n) AS n FROM timed, unnest(buckets, counts) u (at, n) GROUP BY 1, 2, 3
     ),
     counted AS (
       SELECT start, value, at, sum(n) OVER (PARTITION BY start, value ORDER BY at) AS up_to,
              sum(n) OVER (PARTITION BY start, value) AS total FROM merged
     )
     SELECT start, value, max(total)::bigint AS total, min(at) FILTER (WHERE up_to >= ceil(total * 0.5)) AS p50,
            min(at) FILTER (WHERE up_to >= ceil(total * 0.95)) AS p95
     FROM counted GROUP BY 1, 2 ORDER BY 1, 2`,
    values,
  );
  return rows.map((row) => ({
    startMs: of.step === null ? query.fromMs : row.start,
    value: row.value,
    count: row.total,
    p50: centreOf(row.p50),
    p95: centreOf(row.p95),
  }));
}

/** $1 is the account: `factsOf` numbers it first. */
const withoutHiddenApps =
  ' WHERE app_id NOT IN (SELECT h.app_id FROM app_preference h WHERE h.account_id = $1::bigint AND h.is_hidden)';

/**
 * `facts` and `named`: the facts with the column `value`, by which they are grouped. Many are read
 * twice rather than stored: a hundred thousand histograms do not fit into the memory of a query.
 */
function namedFacts(text: string, groups?: Parameters<typeof usageBy>[2], areFew = true): string {
  if (groups === undefined) return `facts AS (${text}), named AS (SELECT *, NULL::text AS value FROM facts)`;
  const column = dimensions[groups.by];
  return `facts AS ${areFew ? '' : 'NOT '}MATERIALIZED (${text}),
     first AS (SELECT ${column} AS value FROM facts${groups.by === 'app' ? withoutHiddenApps : ''} GROUP BY 1 ORDER BY ${rankingSql[groups.ranking]} DESC NULLS LAST, 1
               LIMIT ${Math.trunc(groups.limit)}),
     named AS (SELECT facts.*, first.value FROM facts LEFT JOIN first ON first.value = ${column})`;
}

/** The facts summed by their step, as `hour`, and by what groups and failures are counted by. */
function summed(text: string, start: string, by: Dimension | undefined): string {
  const columns = new Set(['status', ...(by === undefined ? [] : [dimensions[by].replace('::text', '')])]);
  const names = [...columns].join(', ');
  return `SELECT ${start} AS hour, ${names}, ${sumColumns.map((name) => `sum(${name})::bigint AS ${name}`).join(', ')}
     FROM (${text}) f GROUP BY 1, ${names}`;
}

function startSql(step: Step): string {
  return step === 'hour' ? 'hour' : `date_trunc('${step}', hour, 'Asia/Seoul')`;
}

/**
 * The rows of `usage_hour` for the hours that are rolled up, and rows from the records for the
 * others.
 */
export async function factsOf(
  sql: Sql,
  { accountId, fromMs, toMs, only = {} }: UsageQuery,
  by?: Dimension,
  distribution?: Distribution,
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
  const columns = [
    'hour',
    ...dimensionColumns,
    ...sumColumns,
    // Histograms are most of a row.
    ...(distribution === undefined ? [] : [`${distribution}_at`, `${distribution}_n`]),
  ].join(', ');
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
  return { text: `SELECT * FROM (${counted}) u${where}`, values };
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

export function sumsOf(row: RawSums | undefined): UsageSums {
  return {
    requests: row?.requests ?? 0n,
    failures: row?.failures ?? 0n,
    cost: row?.cost ?? 0n,
    promptTokens: row?.prompt_tokens ?? 0n,
    completionTokens: row?.completion_tokens ?? 0n,
    reasoningTokens: row?.reasoning_tokens ?? 0n,
    cachedTokens: row?.cached_tokens ?? 0n,
  };
}
