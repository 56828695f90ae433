import { column, type RowOf, recordOf } from '../store/record.ts';
import type { Sql } from '../store/sql.ts';
import type { KeyHash } from './api-key.ts';
import { keyColumns, keysWithAccounts } from './keys-sql.ts';

const foundKeys = recordOf({
  ...keyColumns,
  accountName: column<string>('a.name'),
  /** Suspended by itself; `adminSuspended` is also true when its account is suspended. */
  isSuspendedItself: column<boolean>('k.admin_suspended'),
  suspendReason: column<string | null>('k.suspend_reason'),
  isAccountSuspended: column<boolean>('a.suspended_at IS NOT NULL'),
  accountSuspendReason: column<string | null>('a.suspend_reason'),
});

/** A key with its account, as operators find it. */
export type FoundKey = RowOf<typeof foundKeys>;

/** Which keys; null: any. */
export interface KeySearch {
  readonly hash: KeyHash | null;
  /** A part of the label or of the name. */
  readonly text: string | null;
  readonly accountId: number | null;
  /** Whether revoked ones count. */
  readonly isRevokedToo: boolean;
}

/** Up to `limit` keys with an id below `beforeId`, newest first. */
export function searchKeys(
  sql: Sql,
  { hash, text, accountId, isRevokedToo }: KeySearch,
  page: { readonly beforeId: number | null; readonly limit: number },
): Promise<readonly FoundKey[]> {
  return foundKeys.all(
    sql,
    `SELECT ${foundKeys.columns} FROM ${keysWithAccounts}
     WHERE ($1::bytea IS NULL OR k.hash = $1) AND ($2::bigint IS NULL OR k.account_id = $2)
       AND ($3::text IS NULL OR position(lower($3) IN lower(k.label)) > 0 OR position(lower($3) IN lower(k.name)) > 0)
       AND ($4::bigint IS NULL OR k.id < $4) AND ($6 OR k.revoked_at IS NULL)
     ORDER BY k.id DESC LIMIT $5`,
    [
      hash === null ? null : Buffer.from(hash, 'hex'),
      accountId,
      text,
      page.beforeId,
      page.limit,
      isRevokedToo,
    ],
  );
}
