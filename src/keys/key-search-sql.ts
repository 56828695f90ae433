import type { KeyHash } from '../ids/api-key.ts';
import type { Sql } from '../store/sql.ts';
import { type KeyRow, keyColumns, keyOf, keysWithAccounts, type RawKey } from './keys-sql.ts';

/** A key with its account, as operators find it. */
export interface FoundKey extends KeyRow {
  readonly accountName: string;
  /** Suspended by itself; `adminSuspended` is also true when its account is suspended. */
  readonly isSuspendedItself: boolean;
  readonly suspendReason: string | null;
  /** Why its account is suspended; null: it is not. */
  readonly accountSuspension: { readonly reason: string | null } | null;
}

/** Which keys; null: any. */
export interface KeySearch {
  readonly hash: KeyHash | null;
  /** A part of the label or of the name. */
  readonly text: string | null;
  readonly accountId: number | null;
}

interface RawFound extends RawKey {
  readonly account_name: string;
  readonly is_suspended_itself: boolean;
  readonly suspend_reason: string | null;
  readonly is_account_suspended: boolean;
  readonly account_reason: string | null;
}

/** Up to `limit` keys with an id below `beforeId`, newest first, revoked ones included. */
export async function searchKeys(
  sql: Sql,
  { hash, text, accountId }: KeySearch,
  page: { readonly beforeId: number | null; readonly limit: number },
): Promise<readonly FoundKey[]> {
  const rows = await sql.query<RawFound>(
    `SELECT found.*, account.name AS account_name, account.suspended_at IS NOT NULL AS is_account_suspended,
       account.suspend_reason AS account_reason
     FROM (
       SELECT ${keyColumns}, k.admin_suspended AS is_suspended_itself, k.suspend_reason FROM ${keysWithAccounts}
       WHERE ($1::bytea IS NULL OR k.hash = $1) AND ($2::bigint IS NULL OR k.account_id = $2)
         AND ($3::text IS NULL OR position(lower($3) IN lower(k.label)) > 0 OR position(lower($3) IN lower(k.name)) > 0)
         AND ($4::bigint IS NULL OR k.id < $4)
       ORDER BY k.id DESC LIMIT $5) found
     JOIN account ON account.id = found.account_id ORDER BY found.id DESC`,
    [hash === null ? null : Buffer.from(hash, 'hex'), accountId, text, page.beforeId, page.limit],
  );
  return rows.map((row) => ({
    ...keyOf(row),
    accountName: row.account_name,
    isSuspendedItself: row.is_suspended_itself,
    suspendReason: row.suspend_reason,
    accountSuspension: row.is_account_suspended ? { reason: row.account_reason } : null,
  }));
}
