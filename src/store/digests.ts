import { hash } from 'node:crypto';
import type { GenerationRow } from './generation-row.ts';

/*
 * What the hashes of the ledger cover (docs/decisions/ledger-chain.md). A row is written as the text of a JSON array, as PostgreSQL's
 * json_build_array writes it, so that a settlement can hash it here and a verification there. Instants are microseconds.
 */

/** An entry as it is hashed; its number follows from its position in the chain. */
export interface ChainedEntry {
  readonly accountId: number;
  /** The stored number of its kind. */
  readonly kind: number;
  readonly amount: bigint;
  /** 32 hex digits. */
  readonly generationUuid: string | null;
  readonly keyId: number | null;
  readonly lotId: number | null;
  readonly idempotencyKey: string | null;
  readonly memo: string | null;
  readonly createdUs: number;
  /** 32 hex digits. */
  readonly refundOf: string | null;
  readonly recordDigest: bigint | null;
}

/** The columns of a lot that never change. */
export interface LotColumns {
  readonly accountId: number;
  readonly id: number;
  readonly kind: number;
  readonly amount: bigint;
  readonly expiresUs: number | null;
  readonly grantedUs: number;
}

/** Milliseconds as the microseconds that the database stores. */
export function microseconds(epochMs: number): number {
  return Math.round(epochMs * 1000);
}

/** The text of an entry that is followed by `linkRest` entries of the same link. */
export function entryText(entry: ChainedEntry, linkRest: number): string {
  const { accountId, kind, amount, keyId, lotId, createdUs, recordDigest } = entry;
  const [generation, refundOf] = [quoted(entry.generationUuid), quoted(entry.refundOf)];
  const message = `${quoted(entry.idempotencyKey)}, ${quoted(entry.memo)}`;
  return `[${accountId}, ${kind}, ${amount}, ${generation}, ${keyId}, ${lotId}, ${message}, ${createdUs}, ${refundOf}, ${recordDigest}, ${linkRest}]`;
}

/** The link of an account's entries of one transaction, from their texts in order. */
export function linkOf(texts: readonly string[]): Buffer {
  return sha256(texts.length === 1 ? (texts[0] ?? '') : texts.join(''));
}

/** The chain after one more link, or row. */
export function chained(chain: Buffer, link: Buffer): Buffer {
  return sha256(Buffer.concat([chain, link]));
}

/** The sha256 of bytes, or of a text in UTF-8. */
export function sha256(data: string | Buffer): Buffer {
  return hash('sha256', data, 'buffer');
}

/** The digest of the record of a request. */
export function generationDigest(row: GenerationRow, appId: number): bigint {
  const times = `${microseconds(row.createdAtMs)}, ${microseconds(row.settledAtMs)}, ${row.day}`;
  const outcome = `${row.status}, ${quoted(row.errorType)}, ${quoted(row.model)}, ${quoted(row.provider)}, ${quoted(row.finishReason)}`;
  const counts = `${row.promptTokens}, ${row.completionTokens}, ${row.cost}, ${row.priceVersion}, ${appId}`;
  return digestOf(
    `[${row.accountId}, "${row.uuid}", ${row.keyId}, ${times}, ${outcome}, ${counts}]${row.detail}`,
  );
}

/** The digest of a lot. */
export function lotDigest({ accountId, id, kind, amount, expiresUs, grantedUs }: LotColumns): bigint {
  return digestOf(`[${accountId}, ${id}, ${kind}, ${amount}, ${expiresUs}, ${grantedUs}]`);
}

/** An instant of the database in microseconds. */
export function microsecondsSql(column: string): string {
  return `(extract(epoch FROM ${column}) * 1000000)::bigint`;
}

/** `generationDigest` of the rows of `generation`, computed by the database. */
export function generationDigestSql(alias: string): string {
  const of = (columns: string): string => columns.replace(/\w+/g, `${alias}.$&`);
  const times = `${microsecondsSql(`${alias}.created_at`)}, ${microsecondsSql(`${alias}.settled_at`)}, ${alias}.day - date '1970-01-01'`;
  const rest = of(
    'status, error_type, model, provider, finish_reason, prompt_tokens, completion_tokens, cost, price_version, app_id',
  );
  return digestSql(
    `json_build_array(${alias}.account_id, replace(${alias}.id::text, '-', ''), ${alias}.key_id, ${times}, ${rest})::text || ${alias}.detail::text`,
  );
}

/** `lotDigest` of the rows of `credit_lot`, computed by the database. */
export function lotDigestSql(alias: string): string {
  const columns = `${alias}.account_id, ${alias}.id, ${alias}.kind, ${alias}.amount`;
  const times = `${microsecondsSql(`${alias}.expires_at`)}, ${microsecondsSql(`${alias}.granted_at`)}`;
  return digestSql(`json_build_array(${columns}, ${times})::text`);
}

/** The text of a row of `price_version` in the chain of prices. */
export const priceTextSql = `json_build_array(id, model, candidate, prompt, completion, request, cache_read, cache_write, ${microsecondsSql('published_at')},
  currency, per, stated::text, usd_krw, margin_percent, facts_as_of::text)::text`;

/** The text of a row of `catalogue_edition` in the chain of editions. */
export const editionTextSql = `json_build_array(id, offers::text, ${microsecondsSql('published_at')})::text`;

/**
 * The text of a row of `quarantined_settlement` in the chain of refused settlements; a decision
 * about it is not part of it.
 */
export const quarantinedTextSql = `json_build_array(number, generation_id, account_id::text, key_id::text, cost::text,
  encode(sha256(record), 'hex'), ${microsecondsSql('quarantined_at')})::text`;

/** The sums that the records of dropped months left, `where` of them, a text for each `month`. */
export const prunedSumsSql = (where = 'true'): string => `(
  SELECT month, string_agg(json_build_array(account_id, key_id, app_id, model, day::text, cost, requests, billed, prompt_tokens,
      completion_tokens, records_digest)::text, '' ORDER BY account_id, key_id, app_id, model, day) AS sums
  FROM pruned_usage WHERE ${where} GROUP BY month)`;

/** The digest of `m`, a row of `pruned_month`, and of `u`, its row of `prunedSumsSql`, if any. */
export const prunedMonthDigestSql = `sha256(convert_to(json_build_array(
    m.month::text, from_id::text, to_id::text, records, cost, ${microsecondsSql('pruned_at')})::text || coalesce(u.sums, ''), 'UTF8'))`;

function digestSql(text: string): string {
  return `('x' || encode(substring(sha256(convert_to(${text}, 'UTF8')) FROM 1 FOR 8), 'hex'))::bit(64)::bigint`;
}

function digestOf(text: string): bigint {
  return sha256(text).readBigInt64BE();
}

/** Half of a surrogate pair is stored as the replacement character. */
function quoted(text: string | null): string {
  return text === null ? 'null' : JSON.stringify(text.toWellFormed());
}
