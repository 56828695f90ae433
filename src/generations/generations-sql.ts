import type { GenerationRow } from '../store/generation-row.ts';
import type { Sql } from '../store/sql.ts';
import { findInAnyAccount } from './any-account-sql.ts';

interface RawGeneration {
  account_id: bigint;
  id: string;
  key_id: bigint;
  created_at: number;
  settled_at: number;
  day_number: number;
  status: number;
  error_type: string | null;
  model: string | null;
  provider: string | null;
  finish_reason: string | null;
  prompt_tokens: number;
  completion_tokens: number;
  cost: bigint;
  price_version: bigint | null;
  detail: string;
}

const select = `
SELECT account_id, id, key_id, created_at, settled_at, day - date '1970-01-01' AS day_number, status, error_type, model, provider,
       finish_reason, prompt_tokens, completion_tokens, cost, price_version, detail::text AS detail
FROM generation`;

/**
 * The record of one generation of this account; null when it does not exist or belongs to another
 * account.
 */
export async function findGeneration(
  sql: Sql,
  accountId: number,
  uuid: string,
): Promise<GenerationRow | null> {
  const [row] = await sql.query<RawGeneration>(`${select} WHERE account_id = $1 AND id = $2`, [
    accountId,
    uuid,
  ]);
  return row === undefined ? null : rowOf(row);
}

/** The span of one record of refusals, with a margin for a clock that was set. */
const refusalsSpanMs = 2_000;

/**
 * The record of refusals of this account that counts a later request with this identity; null when
 * there is none.
 */
export async function findRefusal(sql: Sql, accountId: number, uuid: string): Promise<GenerationRow | null> {
  const fromMs = Math.max(0, Number.parseInt(uuid.slice(0, 12), 16) - refusalsSpanMs);
  const [row] = await sql.query<RawGeneration>(
    `${select} WHERE account_id = $1 AND id >= $2::uuid AND id <= $3::uuid AND status IN (402, 403)
     AND (detail->'refused_request_ids')::jsonb ? $4 ORDER BY id LIMIT 1`,
    [accountId, fromMs.toString(16).padStart(12, '0').padEnd(32, '0'), uuid, `req_${uuid}`],
  );
  return row === undefined ? null : rowOf(row);
}

/**
 * The record of one generation of any account; reads one partition, since the id contains the time.
 */
export async function findAnyGeneration(sql: Sql, uuid: string): Promise<GenerationRow | null> {
  return findInAnyAccount(sql, uuid, async (accounts) => {
    const [row] = await sql.query<RawGeneration>(
      `${select} WHERE account_id = ANY ($2::bigint[]) AND id = $1`,
      [uuid, accounts],
    );
    return row === undefined ? null : rowOf(row);
  });
}

/**
 * Up to `limit` records after (`accountId`, `uuid`), in that order; with `onlyAccount` only those
 * of that account.
 */
export async function listGenerations(
  sql: Sql,
  page: {
    readonly after: { readonly accountId: number; readonly uuid: string };
    readonly onlyAccount: number | null;
    readonly limit: number;
  },
): Promise<readonly GenerationRow[]> {
  const rows = await sql.query<RawGeneration>(
    `${select} WHERE (account_id, id) > ($1, $2) AND ($3::bigint IS NULL OR account_id = $3) ORDER BY account_id, id LIMIT $4`,
    [page.after.accountId, page.after.uuid, page.onlyAccount, page.limit],
  );
  return rows.map(rowOf);
}

function rowOf(row: RawGeneration): GenerationRow {
  return {
    uuid: row.id.replaceAll('-', ''),
    accountId: Number(row.account_id),
    keyId: Number(row.key_id),
    createdAtMs: row.created_at,
    settledAtMs: row.settled_at,
    day: row.day_number,
    status: row.status,
    errorType: row.error_type,
    model: row.model,
    provider: row.provider,
    finishReason: row.finish_reason,
    promptTokens: row.prompt_tokens,
    completionTokens: row.completion_tokens,
    cost: row.cost,
    priceVersion: row.price_version === null ? null : Number(row.price_version),
    detail: row.detail,
  };
}
