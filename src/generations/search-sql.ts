import { column, type RowOf, recordOf, uuid } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';
import { endUser, tagValue } from './analytics/facts-sql.ts';
import { type GenerationDetail, tagMember } from './generation.ts';

/** The members of a listing; `g` is the record, `k` its key. */
export const listingColumns = {
  /** 32 hex digits. */
  uuid: uuid('g.id'),
  createdAtMs: column<number>('g.created_at'),
  key: column<{ readonly hash: string; readonly name: string; readonly label: string } | null>(
    "CASE WHEN k.id IS NOT NULL THEN json_build_object('hash', encode(k.hash, 'hex'), 'name', k.name, 'label', k.label) END",
  ),
  model: column<string | null>('g.model'),
  provider: column<string | null>('g.provider'),
  status: column<number>('g.status'),
  errorType: column<string | null>('g.error_type'),
  finishReason: column<string | null>('g.finish_reason'),
  promptTokens: column<number>('g.prompt_tokens'),
  completionTokens: column<number>('g.completion_tokens'),
  cost: column<bigint>('g.cost'),
  detail:
    column<
      Pick<
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
        | 'external_user'
        | 'metadata'
      >
    >('g.detail'),
};
const listings = recordOf(listingColumns);

/** One request in a list. */
export type GenerationListing = RowOf<typeof listings>;

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
  readonly user: string | null;
  readonly tag: { readonly name: string; readonly value: string } | null;
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

/** The scan ends with the last hit that is needed. */
const search = `
WITH hit AS MATERIALIZED (
  SELECT id FROM (
    SELECT id, created_at, key_id, app_id, status, error_type, model, provider, finish_reason, detail
    FROM generation WHERE account_id = $1 AND id >= $2::uuid AND id < $3::uuid ORDER BY id DESC LIMIT $5) looked
  WHERE ($6::bytea[] IS NULL OR key_id = ANY (ARRAY(SELECT id FROM api_key WHERE hash = ANY ($6) AND account_id = $1)))
    AND ($7::bigint[] IS NULL OR app_id = ANY ($7))
    AND ($8::text IS NULL OR ${endUser} = $8) AND ($9::text IS NULL OR ${tagValue('$9::text')} = $10) AND ${conditionsFrom(11)}
  ORDER BY id DESC LIMIT $4)
SELECT ${listings.columns}
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
  const rows = await listings.all(sql, search, [
    ...span,
    limit + 1,
    maxScanned,
    filter.keyHashes?.map((hash) => Buffer.from(hash, 'hex')) ?? null,
    filter.appIds,
    filter.user,
    filter.tag === null ? null : tagMember(filter.tag.name),
    filter.tag?.value ?? null,
    ...conditionValues(filter),
  ]);
  const items = rows.slice(0, limit);
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
  return listings.all(
    sql,
    `SELECT ${listings.columns} FROM generation g LEFT JOIN api_key k ON k.id = g.key_id AND k.account_id = $1
     WHERE g.account_id = $1 AND g.id = ANY ($2::uuid[]) ORDER BY g.id`,
    [accountId, uuids],
  );
}

/** Whether a record passes the filter of a search; the span is not looked at. */
export function passes(
  row: GenerationListing,
  filter: ListingFilter & Pick<GenerationFilter, 'keyHashes' | 'appIds' | 'user' | 'tag'>,
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
    isAny(filter.appIds, row.detail.app?.id ?? 0) &&
    (filter.user === null || row.detail.external_user === filter.user) &&
    (filter.tag === null || row.detail.metadata?.[tagMember(filter.tag.name)] === filter.tag.value)
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
