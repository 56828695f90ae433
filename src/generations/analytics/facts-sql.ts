import { minIdAt } from '../partitions-sql.ts';
import { bucketSql } from './histogram.ts';

/** Half-open: [fromMs, toMs), both on the hour. */
export interface HourSpan {
  readonly fromMs: number;
  readonly toMs: number;
}

/** What usage is grouped and filtered by, as `usage_hour` has it. */
export const dimensionColumns = [
  'key_id',
  'app_id',
  'model',
  'provider',
  'status',
  'error_type',
  'finish_reason',
  'price_version',
] as const;

/** The histograms of a row, by the prefix of their two columns. */
export const histogramColumns = ['ttft', 'duration', 'speed'] as const;

/** The sums of a row. */
export const sumColumns = [
  'requests',
  'cost',
  'prompt_tokens',
  'completion_tokens',
  'reasoning_tokens',
  'cached_tokens',
] as const;

/**
 * Most records are found by their ids, which contain the instant of creation; others by an index of
 * their own.
 */
const maxRequestMs = 3_600_000;
const maxClockStepMs = 3_600_000;
const isApart = "settled_at - created_at NOT BETWEEN interval '-01:00:00' AND interval '01:00:00'";

/**
 * The smallest and the next larger id that records of a span may have, unless they were settled
 * long after their creation.
 */
export function idsOfSpan({ fromMs, toMs }: HourSpan): readonly [from: string, to: string] {
  return [minIdAt(Math.max(0, fromMs - maxRequestMs)), minIdAt(toMs + maxClockStepMs)];
}

/** The records of an account that were settled in a span; each parameter is an SQL expression. */
export function settledIn(span: {
  readonly account: string;
  readonly fromId: string;
  readonly toId: string;
  readonly from: string;
  readonly to: string;
}): string {
  const settled = `account_id = ${span.account} AND settled_at >= ${span.from} AND settled_at < ${span.to}`;
  return `SELECT * FROM generation WHERE ${settled} AND id >= ${span.fromId} AND id < ${span.toId} AND NOT (${isApart})
    UNION ALL SELECT * FROM generation WHERE ${settled} AND ${isApart}`;
}

/**
 * A number or truth value of a record's detail, as text; NULL where it is absent or null. Searched
 * as text: `->>` parses the whole detail for each member, five times as long. A quote within a
 * string is escaped in JSON, so that only a member's name can match; no nested object of a detail
 * has these names, and the first member of one name is the only one.
 */
export function detailMember(name: string): string {
  const value = `split_part(split_part(detail::text, '"${name}":', 2), ',', 1)`;
  // What is left of `null` is empty, as is an absent member; `}` ends the last one.
  return `nullif(btrim(${value}, ' }nul'), '')`;
}

/** What only records have: the end user that a request named; empty: none. */
export const endUser = textMember(`'"external_user":"'`, "detail->>'external_user'");

/** The value that a request gave a tag; `name` is the SQL expression of `tagMember`. Empty: none. */
export function tagValue(name: string): string {
  return textMember(`to_json(${name})::text || ':"'`, `detail->'metadata'->>${name}`);
}

/**
 * A text of a record's detail, empty where it is absent or null; found as `detailMember` finds a number,
 * and `parsed` where it has escapes, since parsing takes longer. `start` is the SQL expression of its
 * name with the quote of its value.
 */
function textMember(start: string, parsed: string): string {
  const value = `split_part(split_part(detail::text, ${start}, 2), '"', 1)`;
  return `CASE WHEN strpos(${value}, '\\') > 0 THEN ${parsed} ELSE ${value} END`;
}

/**
 * One row for each record, with the columns of `usage_hour` and `more`; a histogram is one bucket or
 * null. A failed request counts for the model that it requested first. `records` is the table or
 * subquery of the records.
 */
export function recordFacts(records: string, more: readonly string[] = []): string {
  const number = (name: string): string => `(${detailMember(name)})::float8`;
  const count = (name: string): string => `coalesce((${detailMember(name)})::bigint, 0)`;
  const streamMs = `(${number('generation_ms')} - ${number('latency_ms')})`;
  return `
SELECT account_id, date_trunc('hour', settled_at, 'UTC') AS hour, key_id, app_id, coalesce(model, detail->'requested_models'->>0, '') AS model,
       coalesce(provider, '') AS provider, status, coalesce(error_type, '') AS error_type,
       coalesce(finish_reason, '') AS finish_reason, coalesce(price_version, 0) AS price_version, 1::bigint AS requests, cost, prompt_tokens::bigint AS prompt_tokens,
       completion_tokens::bigint AS completion_tokens, ${count('reasoning_tokens')} AS reasoning_tokens,
       ${count('cache_read_tokens')} AS cached_tokens,
       CASE WHEN ${number('latency_ms')} IS NOT NULL THEN ${bucketSql(number('latency_ms'))} END AS ttft,
       CASE WHEN ${number('generation_ms')} IS NOT NULL THEN ${bucketSql(number('generation_ms'))} END AS duration,
       CASE WHEN completion_tokens > 0 AND ${streamMs} > 0 AND (${detailMember('streamed')})::boolean
            THEN ${bucketSql(`completion_tokens * 1000 / ${streamMs}`)} END AS speed${more.map((column) => `, ${column}`).join('')}
FROM ${records} r`;
}
