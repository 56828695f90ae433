import type { KeyHash } from '../accounts/api-key.ts';
import { placeOfKey } from '../accounts/keys-sql.ts';
import type { Sql } from '../store/sql.ts';

/** What an act changed of a key. */
export interface KeyState {
  readonly accountId: number;
  readonly suspended: boolean;
  readonly revoked: boolean;
}

/** The state of a key by its hash, or null. */
export async function keyStateOf(sql: Sql, hash: KeyHash): Promise<KeyState | null> {
  const place = await placeOfKey(sql, hash);
  if (place === null) return null;
  const [row] = await sql.query<{ admin_suspended: boolean; revoked: boolean }>(
    'SELECT admin_suspended, revoked_at IS NOT NULL AS revoked FROM api_key WHERE account_id = $1 AND id = $2',
    [place.accountId, place.id],
  );
  if (row === undefined) return null;
  return { accountId: place.accountId, suspended: row.admin_suspended, revoked: row.revoked };
}

/** The balance of an account in a transaction that changed it, micro-won. */
export async function balanceOfAccount(sql: Sql, accountId: number): Promise<bigint> {
  const [row] = await sql.query<{ balance: bigint }>(
    'SELECT balance FROM account_balance WHERE account_id = $1',
    [accountId],
  );
  return row?.balance ?? 0n;
}

/**
 * What an operator granted since an instant, confirmed top-ups included, micro-won. Until the
 * transaction ends no other one of the operator reads it, so that two grants at once do not both
 * fit below a limit.
 */
export async function grantedSince(sql: Sql, operatorId: number, sinceMs: number): Promise<bigint> {
  await sql.query('SELECT FROM operator WHERE id = $1 FOR UPDATE', [operatorId]);
  const [row] = await sql.query<{ granted: string }>(
    `SELECT coalesce(sum((after->>'amount_micro')::numeric), 0)::text AS granted FROM audit_entry
     WHERE operator_id = $1 AND act IN ('credit.grant', 'topup.confirm') AND at >= to_timestamp($2::float8 / 1000)`,
    [operatorId, sinceMs],
  );
  return BigInt(row?.granted ?? 0);
}
