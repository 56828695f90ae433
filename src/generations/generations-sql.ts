import { type GenerationRow, generations } from '../store/generation-row.ts';
import type { Sql } from '../store/sql.ts';
import { findInAnyAccount } from './any-account-sql.ts';

const select = `SELECT ${generations.columns} FROM generation`;

/**
 * The record of one generation of this account; null when it does not exist or belongs to another
 * account.
 */
export function findGeneration(sql: Sql, accountId: number, uuid: string): Promise<GenerationRow | null> {
  return generations.first(sql, `${select} WHERE account_id = $1 AND id = $2`, [accountId, uuid]);
}

/** The span of one record of refusals, with a margin for a clock that was set. */
const refusalsSpanMs = 2_000;

/**
 * The record of refusals of this account that counts a later request with this identity; null when
 * there is none.
 */
export function findRefusal(sql: Sql, accountId: number, uuid: string): Promise<GenerationRow | null> {
  const fromMs = Math.max(0, Number.parseInt(uuid.slice(0, 12), 16) - refusalsSpanMs);
  return generations.first(
    sql,
    `${select} WHERE account_id = $1 AND id >= $2::uuid AND id <= $3::uuid AND status IN (402, 403)
     AND (detail->'refused_request_ids')::jsonb ? $4 ORDER BY id LIMIT 1`,
    [accountId, fromMs.toString(16).padStart(12, '0').padEnd(32, '0'), uuid, `req_${uuid}`],
  );
}

/**
 * The record of one generation of any account; reads one partition, since the id contains the time.
 */
export async function findAnyGeneration(sql: Sql, uuid: string): Promise<GenerationRow | null> {
  return findInAnyAccount(sql, uuid, (accounts) =>
    generations.first(sql, `${select} WHERE account_id = ANY ($2::bigint[]) AND id = $1`, [uuid, accounts]),
  );
}

/**
 * Up to `limit` records after (`accountId`, `uuid`), in that order; with `onlyAccount` only those
 * of that account.
 */
export function listGenerations(
  sql: Sql,
  page: {
    readonly after: { readonly accountId: number; readonly uuid: string };
    readonly onlyAccount: number | null;
    readonly span: { readonly fromMs: number | null; readonly toMs: number | null };
    readonly limit: number;
  },
): Promise<readonly GenerationRow[]> {
  return generations.all(
    sql,
    `${select} WHERE (account_id, id) > ($1, $2) AND ($3::bigint IS NULL OR account_id = $3)
       AND ($5::float8 IS NULL OR created_at >= to_timestamp($5::float8 / 1000)) AND ($6::float8 IS NULL OR created_at < to_timestamp($6::float8 / 1000))
     ORDER BY account_id, id LIMIT $4`,
    [page.after.accountId, page.after.uuid, page.onlyAccount, page.limit, page.span.fromMs, page.span.toMs],
  );
}
