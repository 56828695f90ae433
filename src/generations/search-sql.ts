import type { Sql } from '../store/sql.ts';
import type { GenerationDetail } from './generation.ts';

/** One request in a list. */
export interface GenerationListing {
  /** 32 hex digits. */
  readonly uuid: string;
  readonly createdAtMs: number;
  readonly key: { readonly hash: string; readonly name: string; readonly label: string } | null;
  readonly model: string | null;
  readonly provider: string | null;
  readonly status: number;
  readonly errorType: string | null;
  readonly finishReason: string | null;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cost: bigint;
  readonly detail: Pick<
    GenerationDetail,
    | 'request_id'
    | 'requested_models'
    | 'latency_ms'
    | 'generation_ms'
    | 'streamed'
    | 'cancelled'
    | 'reasoning_tokens'
    | 'cache_read_tokens'
    | 'app'
    | 'title'
    | 'http_referer'
    | 'user_agent'
    | 'refusals'
  >;
}

/**
 * What can be said of one record without its account and the span; null: anything, a list: any of
 * these.
 */
export interface ListingFilter {
  /** `ok`: answered without an error. */
  readonly outcome: 'ok' | 'failed' | 'cancelled' | null;
  readonly statuses: readonly number[] | null;
  readonly errorTypes: readonly string[] | null;
  /** The model that responded; where none did, the one that was requested first. */
  readonly models: readonly string[] | null;
  readonly providers: readonly string[] | null;
  readonly finishReasons: readonly string[] | null;
}

/** Half-open, in epoch milliseconds; null: without an end. */
export interface CreatedSpan {
  readonly fromMs: number | null;
  readonly toMs: number | null;
}

/** Which requests of an account; null: any. */
export interface GenerationFilter extends ListingFilter, CreatedSpan {
  readonly accountId: number;
  readonly keyHashes: readonly string[] | null;
  /** IDs of apps, 0 for none: those that count as the apps. */
  readonly appIds: readonly number[] | null;
}

/** Every record. */
export const anyListing: ListingFilter = {
  outcome: null,
  statuses: null,
  errorTypes: null,
  models: null,
  providers: null,
  finishReasons: null,
};

/** A page of a search. */
export interface GenerationPage {
  readonly items: readonly GenerationListing[];
  /** The last record that was looked at, when there may be more; the next page comes before it. */
  readonly next: string | null;
}

/** The most records that one page looks at, so that a rare match cannot make it slow. */
const maxScanned = 50_000;

/** One request in a list, as the database returns it. */
export interface RawListing {
  id: string;
  created_at: number;
  key_hash: Buffer | null;
  key_name: string | null;
  key_label: string | null;
  model: string | null;
  provider: string | null;
  status: number;
  error_type: string | null;
  finish_reason: string | null;
  prompt_tokens: number;
  completion_tokens: number;
  cost: bigint;
  detail: GenerationListing['detail'];
}

/** The conditions of a filter and a span, whose values are the parameters from `$first`. */
export function conditionsFrom(first: number): string {
  const at = (offset: number): string => `$${first + offset}`;
  return `
  (${at(0)}::text IS NULL OR CASE ${at(0)} WHEN 'cancelled' THEN status = 499
     WHEN 'ok' THEN error_type IS NULL AND status < 400
     ELSE status <> 499 AND (error_type IS NOT NULL OR status >= 400) END)
  AND (${at(1)}::int[] IS NULL OR status = ANY (${at(1)})) AND (${at(2)}::text[] IS NULL OR error_type = ANY (${at(2)}))
  AND (${at(3)}::text[] IS NULL OR coalesce(model, detail->'requested_models'->>0) = ANY (${at(3)}))
  AND (${at(4)}::text[] IS NULL OR provider = ANY (${at(4)})) AND (${at(5)}::text[] IS NULL OR finish_reason = ANY (${at(5)}))
  AND (${at(6)}::float8 IS NULL OR created_at >= to_timestamp(${at(6)} / 1000))
  AND (${at(7)}::float8 IS NULL OR created_at < to_timestamp(${at(7)} / 1000))`;
}

/** The values of `conditionsFrom`. */
export function conditionValues(filter: ListingFilter & CreatedSpan): readonly unknown[] {
  const { outcome, statuses, errorTypes, models, providers, finishReasons, fromMs, toMs } = filter;
  return [outcome, statuses, errorTypes, models, providers, finishReasons, fromMs, toMs];
}

/** The columns of a listing; `g` is the record, `k` its key. */
export const listingColumns = `g.id, g.created_at, k.hash AS key_hash, k.name AS key_name, k.label AS key_label, g.model,
  g.provider, g.status, g.error_type, g.finish_reason, g.prompt_tokens, g.completion_tokens, g.cost, g.detail`;

/** The scan ends with the last hit that is needed. */
const search = `
WITH hit AS MATERIALIZED (
  SELECT id FROM (
    SELECT id, created_at, key_id, app_id, status, error_type, model, provider, finish_reason, detail
    FROM generation WHERE account_id = $1 AND id >= $2::uuid AND id < $3::uuid ORDER BY id DESC LIMIT $5) looked
  WHERE ($6::bytea[] IS NULL OR key_id = ANY (ARRAY(SELECT id FROM api_key WHERE hash = ANY ($6) AND account_id = $1)))
    AND ($7::bigint[] IS NULL OR app_id = ANY ($7)) AND ${conditionsFrom(8)}
  ORDER BY id DESC LIMIT $4)
SELECT ${listingColumns}
FROM hit JOIN generation g ON g.account_id = $1 AND g.id = hit.id
LEFT JOIN api_key k ON k.id = g.key_id AND k.account_id = $1 ORDER BY g.id DESC`;

/**
 * The newest requests of an account before a record (null: the newest of all) that pass the filter.
 * Looks at no more than `maxScanned` records: a page may have fewer than `limit` items although
 * there are more.
 */
export async function searchGenerations(
  sql: Sql,
  filter: GenerationFilter,
  before: string | null,
  limit: number,
): Promise<GenerationPage> {
  const span = [
    filter.accountId,
    lowestIdAt((filter.fromMs ?? 0) - arrivalMs),
    before ?? (filter.toMs === null ? highestId : lowestIdAt(filter.toMs)),
  ];
  const rows = await sql.query<RawListing>(search, [
    ...span,
    limit + 1,
    maxScanned,
    filter.keyHashes?.map((hash) => Buffer.from(hash, 'hex')) ?? null,
    filter.appIds,
    ...conditionValues(filter),
  ]);
  const items = rows.slice(0, limit).map(listingOf);
  if (rows.length > limit) return { items, next: items.at(-1)?.uuid ?? null };
  const [last] = await sql.query<{ id: string }>(
    `SELECT id FROM generation WHERE account_id = $1 AND id >= $2::uuid AND id < $3::uuid
     ORDER BY id DESC OFFSET $4 LIMIT 1`,
    [...span, maxScanned - 1],
  );
  return { items, next: last?.id.replaceAll('-', '') ?? null };
}

/**
 * The ids of the latest records of an account since an instant, the newest first: from the index
 * alone, so that it may be read once a second.
 */
export async function recentGenerationIds(
  sql: Sql,
  accountId: number,
  fromMs: number,
  limit: number,
): Promise<readonly string[]> {
  const rows = await sql.query<{ id: string }>(
    'SELECT id FROM generation WHERE account_id = $1 AND id >= $2::uuid ORDER BY id DESC LIMIT $3',
    [accountId, lowestIdAt(fromMs), limit],
  );
  return rows.map(({ id }) => id.replaceAll('-', ''));
}

/** Records of an account by their ids, the oldest first. */
export async function readListings(
  sql: Sql,
  accountId: number,
  uuids: readonly string[],
): Promise<readonly GenerationListing[]> {
  if (uuids.length === 0) return [];
  const rows = await sql.query<RawListing>(
    `SELECT ${listingColumns} FROM generation g LEFT JOIN api_key k ON k.id = g.key_id AND k.account_id = $1
     WHERE g.account_id = $1 AND g.id = ANY ($2::uuid[]) ORDER BY g.id`,
    [accountId, uuids],
  );
  return rows.map(listingOf);
}

/** Whether a record passes the filter of a search; the span is not looked at. */
export function passes(
  row: GenerationListing,
  filter: ListingFilter & Pick<GenerationFilter, 'keyHashes' | 'appIds'>,
): boolean {
  const isAny = <Value>(wanted: readonly Value[] | null, value: Value | null | undefined): boolean =>
    wanted === null || (value != null && wanted.includes(value));
  return (
    (filter.outcome === null || filter.outcome === outcomeOf(row)) &&
    isAny(filter.statuses, row.status) &&
    isAny(filter.errorTypes, row.errorType) &&
    isAny(filter.models, row.model ?? row.detail.requested_models?.[0]) &&
    isAny(filter.providers, row.provider) &&
    isAny(filter.finishReasons, row.finishReason) &&
    isAny(filter.keyHashes, row.key?.hash) &&
    isAny(filter.appIds, row.detail.app?.id ?? 0)
  );
}

/** How a request ended, as the filter names it. */
export function outcomeOf({
  status,
  errorType,
}: Pick<GenerationListing, 'status' | 'errorType'>): 'ok' | 'failed' | 'cancelled' {
  if (status === 499) return 'cancelled';
  return errorType === null && status < 400 ? 'ok' : 'failed';
}

/**
 * How long before its record's instant a request may have arrived: its id has the time of its
 * arrival.
 */
export const arrivalMs = 60_000;

/** An id contains its time, so a span of time is a span of ids. */
export function lowestIdAt(epochMs: number): string {
  return Math.max(0, Math.floor(epochMs)).toString(16).padStart(12, '0').padEnd(32, '0');
}

const highestId = 'f'.repeat(32);

/** One request in a list. */
export function listingOf(row: RawListing): GenerationListing {
  const { key_hash: hash, key_name: name, key_label: label } = row;
  return {
    uuid: row.id.replaceAll('-', ''),
    createdAtMs: row.created_at,
    key: hash === null ? null : { hash: hash.toString('hex'), name: name ?? '', label: label ?? '' },
    model: row.model,
    provider: row.provider,
    status: row.status,
    errorType: row.error_type,
    finishReason: row.finish_reason,
    promptTokens: row.prompt_tokens,
    completionTokens: row.completion_tokens,
    cost: row.cost,
    detail: row.detail,
  };
}
