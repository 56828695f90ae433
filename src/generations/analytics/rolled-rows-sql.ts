import { dimensionColumns, histogramColumns, recordFacts, settledIn, sumColumns } from './facts-sql.ts';

const dimensions = dimensionColumns.join(', ');
/** Of all accounts together. */
const dimensionsOfTotals = dimensions.replace('key_id, app_id', '0::bigint AS key_id, 0::bigint AS app_id');
const histogramPairs = histogramColumns.flatMap((name) => [`${name}_at`, `${name}_n`]).join(', ');
const sums = sumColumns.map((name) => `sum(${name})::bigint AS ${name}`).join(', ');
const totals = sumColumns.join(', ');

/** What identifies a row of `usage_hour`. */
const rolledGroups = `account_id, hour, ${dimensions}`;
/** The columns of `usage_hour`, in the order in which the queries of this file return them. */
export const rolledColumns = `${rolledGroups}, ${totals}, ${histogramPairs}`;

/** A query with the rows of `usage_hour` of some usage: the text after WITH, and the SELECT. */
export interface RolledRows {
  readonly ctes: string;
  readonly select: string;
}

/**
 * Reads the records of the accounts $1 (if null, of all that used a key on these days), of the
 * hours from $2 to $3, created from id $4 to $5. Adds what dropped months left of these hours.
 */
export const rowsOfRecords: RolledRows = rowsOf(
  `records AS MATERIALIZED (
  SELECT g.* FROM (
    SELECT DISTINCT account_id FROM key_usage_day
    WHERE day >= ($2::timestamptz AT TIME ZONE 'Asia/Seoul')::date AND day <= (($3::timestamptz - interval '1 ms') AT TIME ZONE 'Asia/Seoul')::date
      AND ($1::bigint[] IS NULL OR account_id = ANY ($1::bigint[]))
  ) a JOIN LATERAL (
    ${settledIn({ account: 'a.account_id', from: '$2::timestamptz', to: '$3::timestamptz', fromId: '$4::uuid', toId: '$5::uuid' })}
  ) g ON true
)`,
  `SELECT ${rolledColumns} FROM pruned_usage_hour
   WHERE hour >= $2::timestamptz AND hour < $3::timestamptz AND ($1::bigint[] IS NULL OR account_id = ANY ($1::bigint[]))`,
);

/** From all records of a partition. */
export function rowsOfPartition(partition: string): RolledRows {
  return rowsOf(`records AS (SELECT * FROM ${partition})`, null);
}

/** All accounts together, from their rows of the hours from $1 to $2. */
export const rowsOfTotals: RolledRows = grouped(
  `merged AS MATERIALIZED (
  SELECT 0::bigint AS account_id, hour, ${dimensionsOfTotals}, ${totals}, ${histogramPairs}
  FROM usage_hour WHERE account_id > 0 AND hour >= $1::timestamptz AND hour < $2::timestamptz
)`,
  `SELECT ${rolledGroups}, ${totals} FROM merged`,
  bucketsOfRows('merged'),
);

/** From `records`, and from rows that were rolled up before. */
function rowsOf(records: string, rolled: string | null): RolledRows {
  const ofRecords = `SELECT ${rolledGroups}, kind, bucket, 1::bigint AS n
  FROM facts, LATERAL (VALUES ${histogramColumns.map((name, kind) => `(${kind}, ${name})`).join(', ')}) v (kind, bucket)
  WHERE bucket IS NOT NULL`;
  const facts = `${records},
facts AS MATERIALIZED (${recordFacts('records')})`;
  const summed = `SELECT ${rolledGroups}, ${totals} FROM facts`;
  if (rolled === null) return grouped(facts, summed, ofRecords);
  return grouped(
    `${facts}, rolled AS MATERIALIZED (${rolled})`,
    `${summed} UNION ALL SELECT ${rolledGroups}, ${totals} FROM rolled`,
    `${ofRecords} UNION ALL ${bucketsOfRows('rolled')}`,
  );
}

/** The buckets of rows that have histograms. */
function bucketsOfRows(rows: string): string {
  const each = histogramColumns.map(
    (name, kind) => `SELECT ${kind} AS kind, u.bucket, u.n FROM unnest(${name}_at, ${name}_n) u (bucket, n)`,
  );
  return `SELECT ${rolledGroups}, kind, bucket, n FROM ${rows}, LATERAL (${each.join(' UNION ALL ')}) v`;
}

/** `summed` has rows with dimensions and sums, `buckets` with dimensions, kind, bucket and n. */
function grouped(ctes: string, summed: string, buckets: string): RolledRows {
  const arrays = histogramColumns.flatMap((name, kind) => [
    `array_agg(bucket ORDER BY bucket) FILTER (WHERE kind = ${kind}) AS ${name}_at`,
    `array_agg(n ORDER BY bucket) FILTER (WHERE kind = ${kind}) AS ${name}_n`,
  ]);
  const orEmpty = histogramColumns.flatMap((name) => [
    `coalesce(h.${name}_at, '{}') AS ${name}_at`,
    `coalesce(h.${name}_n, '{}') AS ${name}_n`,
  ]);
  return {
    ctes: `${ctes},
counts AS (
  SELECT ${rolledGroups}, kind, bucket, sum(n)::bigint AS n FROM (${buckets}) b GROUP BY ${rolledGroups}, kind, bucket
),
histograms AS (SELECT ${rolledGroups}, ${arrays.join(', ')} FROM counts GROUP BY ${rolledGroups})`,
    select: `SELECT ${rolledGroups}, ${sumColumns.map((name) => `s.${name}`).join(', ')}, ${orEmpty.join(', ')}
FROM (SELECT ${rolledGroups}, ${sums} FROM (${summed}) f GROUP BY ${rolledGroups}) s LEFT JOIN histograms h USING (${rolledGroups})`,
  };
}
