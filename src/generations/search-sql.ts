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

/** Which requests; null: any. */
export interface GenerationFilter {
  readonly accountId: number;
  readonly fromMs: number | null;
  readonly toMs: number | null;
  /** `ok`: answered without an error. */
  readonly outcome: 'ok' | 'failed' | 'cancelled' | null;
  readonly status: number | null;
  readonly errorType: string | null;
  readonly model: string | null;
  readonly provider: string | null;
  readonly finishReason: string | null;
  readonly keyHash: string | null;
  /** Ids of apps, 0 for none: those that count as one app. */
  readonly appIds: readonly number[] | null;
}

/** What can be said of one record without its account and the span. */
export type ListingFilter = Pick<GenerationFilter, 'outcome' | 'model' | 'provider' | 'keyHash' | 'appIds'>;

/** A page of a search. */
export interface GenerationPage {
  readonly items: readonly GenerationListing[];
  /** The last record that was looked at, when there may be more; the next page comes before it. */
  readonly next: string | null;
}

/** The most records that one page looks at, so that a rare match cannot make it slow. */
const maxScanned = 50_000;

interface RawListing {
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

const conditions = `
  ($5::text IS NULL OR CASE $5 WHEN 'cancelled' THEN status = 499
     WHEN 'ok' THEN error_type IS NULL AND status < 400 ELSE error_type IS NOT NULL END)
  AND ($6::int IS NULL OR status = $6) AND ($7::text IS NULL OR error_type = $7) AND ($8::text IS NULL OR model = $8)
  AND ($9::text IS NULL OR provider = $9) AND ($10::text IS NULL OR finish_reason = $10)
  AND ($11::bytea IS NULL OR key_id = (SELECT id FROM api_key WHERE hash = $11 AND account_id = $1))
  AND ($12::bigint[] IS NULL OR app_id = ANY ($12))
  AND ($13::float8 IS NULL OR created_at >= to_timestamp($13 / 1000)) AND ($14::float8 IS NULL OR created_at < to_timestamp($14 / 1000))`;

const listingColumns = `g.id, g.created_at, k.hash AS key_hash, k.name AS key_name, k.label AS key_label, g.model,
  g.provider, g.status, g.error_type, g.finish_reason, g.prompt_tokens, g.completion_tokens, g.cost, g.detail`;

/** The scan ends with the last hit that is needed. */
const search = `
WITH hit AS MATERIALIZED (
  SELECT id FROM (
    SELECT id, created_at, key_id, app_id, status, error_type, model, provider, finish_reason
    FROM generation WHERE account_id = $1 AND id >= $2::uuid AND id < $3::uuid ORDER BY id DESC LIMIT $15) looked
  WHERE ${conditions} ORDER BY id DESC LIMIT $4)
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
    filter.outcome,
    filter.status,
    filter.errorType,
    filter.model,
    filter.provider,
    filter.finishReason,
    filter.keyHash === null ? null : Buffer.from(filter.keyHash, 'hex'),
    filter.appIds,
    filter.fromMs,
    filter.toMs,
    maxScanned,
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
export function passes(row: GenerationListing, filter: ListingFilter): boolean {
  const is = <Value>(wanted: Value | null, value: Value | null): boolean =>
    wanted === null || wanted === value;
  return (
    is(filter.outcome, outcomeOf(row)) &&
    is(filter.model, row.model) &&
    is(filter.provider, row.provider) &&
    is(filter.keyHash, row.key?.hash ?? null) &&
    (filter.appIds === null || filter.appIds.includes(row.detail.app?.id ?? 0))
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
const arrivalMs = 60_000;

/** An id contains its time, so a span of time is a span of ids. */
function lowestIdAt(epochMs: number): string {
  return Math.max(0, Math.floor(epochMs)).toString(16).padStart(12, '0').padEnd(32, '0');
}

const highestId = 'f'.repeat(32);

function listingOf(row: RawListing): GenerationListing {
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
