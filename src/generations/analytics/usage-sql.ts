import type { Sql } from '../../store/sql.ts';
import { idsOfSpan, settledIn, sumColumns } from './facts-sql.ts';
import { centreOf } from './histogram.ts';
import {
  type Dimension,
  type Distribution,
  dimensions,
  factsOf,
  type UsageQuery,
} from './usage-facts-sql.ts';

/** The steps of a series; days, weeks (from Monday) and months are Seoul's. */
export const steps = ['hour', 'day', 'week', 'month'] as const;
export type Step = (typeof steps)[number];

const rankingSql = {
  requests: 'sum(requests)',
  failures: 'sum(requests) FILTER (WHERE is_failed)',
  cost: 'sum(cost)',
  promptTokens: 'sum(prompt_tokens)',
  completionTokens: 'sum(completion_tokens)',
  reasoningTokens: 'sum(reasoning_tokens)',
  cachedTokens: 'sum(cached_tokens)',
};

/** What groups are ranked by. */
export type Ranking = keyof typeof rankingSql;

/** Sums of usage; `failures` are without those that their client cancelled. Cost in micro-won. */
export type UsageSums = Readonly<Record<Ranking, bigint>>;

/** The columns of `UsageSums`: sums of no rows are 0. */
export const sumsSql = Object.entries(rankingSql)
  .map(([name, sum]) => `coalesce(${sum}, 0)::bigint AS "${name}"`)
  .join(', ');

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

/** The sums of all usage. */
export async function usageTotals(sql: Sql, query: UsageQuery): Promise<UsageSums> {
  const { text, values } = await factsOf(sql, query);
  const [row] = await sql.query<UsageSums>(`WITH facts AS (${text}) SELECT ${sumsSql} FROM facts`, values);
  return row as UsageSums;
}

/** The `limit` first values of a dimension by a sum, and the rest as one. */
export async function usageBy(
  sql: Sql,
  query: UsageQuery,
  { by, limit, ranking }: { readonly by: Dimension; readonly limit: number; readonly ranking: Ranking },
): Promise<readonly UsageGroup[]> {
  const { text, values } = await factsOf(sql, query, { by });
  return sql.query(
    `WITH ${namedFacts(summed(text, "'-infinity'::timestamptz", by), { by, limit, ranking })}
     SELECT value, ${sumsSql} FROM named GROUP BY value ORDER BY value IS NULL, ${rankingSql[ranking]} DESC NULLS LAST, value`,
    values,
  );
}

/** The names of the members of `metadata` that requests of an account had, the most used first. */
export function usedTags(
  sql: Sql,
  { accountId, fromMs, toMs }: UsageQuery,
): Promise<readonly { readonly name: string; readonly requests: bigint }[]> {
  const span = {
    account: '$1',
    from: '$2::timestamptz',
    to: '$3::timestamptz',
    fromId: '$4::uuid',
    toId: '$5::uuid',
  };
  const instants = [fromMs, toMs].map((atMs) => new Date(atMs).toISOString());
  return sql.query(
    `SELECT substr(member, 2) AS name, count(*) AS requests FROM (${settledIn(span)}) g, json_object_keys(g.detail->'metadata') member
     WHERE strpos(g.detail::text, '"metadata":') > 0 GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ${maxTags}`,
    [accountId, ...instants, ...idsOfSpan({ fromMs, toMs })],
  );
}

/** More than a person chooses from. */
const maxTags = 100;

/**
 * The usage of one model at one provider with one price. Answers that broke off, which are free, have
 * sums of their own.
 */
export interface SourceUsage extends UsageSums {
  readonly model: string;
  readonly provider: string;
  /** 0: there was none. */
  readonly priceVersion: bigint;
  readonly isBroken: boolean;
}

/** More than any catalogue has. */
const maxSources = 20_000;

/** The sums of each model at each provider that responded, with each price. */
export async function usageBySource(sql: Sql, query: UsageQuery): Promise<readonly SourceUsage[]> {
  const { text, values } = await factsOf(sql, query);
  return sql.query(
    `WITH facts AS (${text})
     SELECT model, provider, price_version AS "priceVersion", error_type <> '' OR finish_reason = 'error' AS "isBroken", ${sumsSql}
     FROM facts WHERE provider <> '' GROUP BY 1, 2, 3, 4 ORDER BY ${rankingSql.cost} DESC LIMIT ${maxSources}`,
    values,
  );
}

/** The sums of each step with usage, in all or of the first values of a dimension and the rest. */
export async function usageSeries(
  sql: Sql,
  query: UsageQuery,
  series: { readonly step: Step; readonly groups?: Parameters<typeof usageBy>[2] },
): Promise<readonly UsagePoint[]> {
  const { text, values } = await factsOf(sql, query, { by: series.groups?.by });
  return sql.query(
    `WITH ${namedFacts(summed(text, startSql(series.step), series.groups?.by), series.groups)}
     SELECT hour AS "startMs", value, ${sumsSql} FROM named GROUP BY 1, 2 ORDER BY 1, 2`,
    values,
  );
}

/**
 * More than the places of groups, and than the numbers of buckets, above and below zero. The step,
 * the place and the bucket of a count are one number: a million of them are summed by a hash in
 * memory, but as three columns, one of them a text, they were sorted on the disk.
 */
const maxPlaces = 128;
const maxBuckets = 2048;

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
  const { text, values } = await factsOf(sql, query, {
    by: of.groups?.by,
    distribution: of.distribution,
  });
  const hours = of.step === null ? '0::bigint' : `(date_part('epoch', ${startSql(of.step)}) / 3600)::bigint`;
  const rows = await sql.query<{
    start: number;
    value: string | null;
    total: bigint;
    p50: number;
    p95: number;
  }>(
    `WITH ${namedFacts(text, of.groups, false)},
     -- OFFSET keeps the series from being computed again for each bucket.
     timed AS (
       SELECT ${hours} * ${maxPlaces} + place AS series, ${of.distribution}_at AS buckets, ${of.distribution}_n AS counts
       FROM named OFFSET 0
     ), keyed AS (
       SELECT series * ${maxBuckets} + u.at + ${maxBuckets / 2} AS key, u.n::float8 AS n FROM timed, unnest(buckets, counts) u (at, n) OFFSET 0
     ), merged AS (
       SELECT key / ${maxBuckets} AS series, (key % ${maxBuckets} - ${maxBuckets / 2})::int AS at, sum(n) AS n FROM keyed GROUP BY key
     ),
     counted AS (
       -- Not of bigint, whose sums are numeric: these are exact below 2^53.
       SELECT series, at, sum(n) OVER (PARTITION BY series ORDER BY at ROWS UNBOUNDED PRECEDING) AS up_to,
              sum(n) OVER (PARTITION BY series) AS total
       FROM merged
     ), found AS (
       SELECT series, max(total)::bigint AS total, min(at) FILTER (WHERE up_to >= ceil(total / 2)) AS p50,
              min(at) FILTER (WHERE up_to >= ceil(total * 95 / 100)) AS p95
       FROM counted GROUP BY 1
     )
     SELECT to_timestamp(series / ${maxPlaces} * 3600) AS start, first.value, total, p50, p95
     FROM found LEFT JOIN first ON first.place = series % ${maxPlaces} ORDER BY 1, 2`,
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
  ' AND app_id NOT IN (SELECT h.app_id FROM app_preference h WHERE h.account_id = $1::bigint AND h.is_hidden)';

/**
 * `facts` and `named`: the facts with the column `value`, by which they are grouped, and its `place`
 * in `first`, 0 for all other values. Many are read twice rather than stored: a hundred thousand
 * histograms do not fit into the memory of a query.
 */
function namedFacts(text: string, groups?: Parameters<typeof usageBy>[2], areFew = true): string {
  if (groups === undefined)
    return `facts AS (${text}), named AS (SELECT *, NULL::text AS value, 0 AS place FROM facts),
      first AS (SELECT NULL::text AS value, 0 AS place)`;
  const column = dimensions[groups.by];
  return `facts AS ${areFew ? '' : 'NOT '}MATERIALIZED (${text}),
     first AS (SELECT value, row_number() OVER () AS place FROM (SELECT ${column} AS value FROM facts WHERE ${column} IS NOT NULL${groups.by === 'app' ? withoutHiddenApps : ''} GROUP BY 1 ORDER BY ${rankingSql[groups.ranking]} DESC NULLS LAST, 1
               LIMIT ${Math.trunc(groups.limit)}) f),
     named AS (SELECT facts.*, first.value, coalesce(first.place, 0) AS place FROM facts LEFT JOIN first ON first.value = ${column})`;
}

/** The facts summed by their step, as `hour`, and by what groups and failures are counted by. */
function summed(text: string, start: string, by: Dimension | undefined): string {
  const columns = new Set(['is_failed', ...(by === undefined ? [] : [dimensions[by].replace('::text', '')])]);
  const names = [...columns].join(', ');
  return `SELECT ${start} AS hour, ${names}, ${sumColumns.map((name) => `sum(${name})::bigint AS ${name}`).join(', ')}
     FROM (${text}) f GROUP BY 1, ${names}`;
}

/** A Monday in Seoul, whose days are of 24 hours since 1988: arithmetic takes a fifth of the time. */
const monday = "'1988-12-25T15:00:00Z'::timestamptz";

function startSql(step: Step): string {
  switch (step) {
    case 'hour':
      return 'hour';
    case 'day':
      return `date_bin('1 day', hour, ${monday})`;
    case 'week':
      return `date_bin('7 days', hour, ${monday})`;
    case 'month':
      return "date_trunc('month', hour, 'Asia/Seoul')";
  }
}
