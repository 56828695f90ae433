import type { Sql } from '../store/sql.ts';
import type { Owner } from './owners-sql.ts';

/** The rows of an owner beside its own, without hashes and secrets. */
export interface RowsOfOwner {
  readonly passkeys: readonly { name: string; created_at: number; last_used_at: number | null }[];
  readonly sessions: readonly {
    via: string;
    address: string;
    user_agent: string;
    created_at: number;
    last_seen_at: number;
  }[];
  readonly identities: readonly { issuer: string; subject: string; created_at: number }[];
}

/** What is stored about an owner beside its own row. */
export async function readRowsOfOwner(sql: Sql, ownerId: number): Promise<RowsOfOwner> {
  const passkeys = await sql.query<RowsOfOwner['passkeys'][number]>(
    'SELECT name, created_at, last_used_at FROM passkey WHERE owner_id = $1 ORDER BY id',
    [ownerId],
  );
  const sessions = await sql.query<RowsOfOwner['sessions'][number]>(
    'SELECT via, address, user_agent, created_at, last_seen_at FROM page_session WHERE owner_id = $1 ORDER BY id',
    [ownerId],
  );
  const identities = await sql.query<RowsOfOwner['identities'][number]>(
    'SELECT issuer, subject, created_at FROM owner_oidc WHERE owner_id = $1 ORDER BY issuer',
    [ownerId],
  );
  return { passkeys, sessions, identities };
}

const tablesOfOwner = [
  'passkey',
  'recovery_code',
  'owner_oidc',
  'page_session',
  'sign_in_step',
  'one_time_link',
];

/** Deletes an owner and its rows, and its address where an invitation or the account has it. */
export async function deleteRowsOfOwner(
  sql: Sql,
  { ownerId, accountId, email }: Pick<Owner, 'ownerId' | 'accountId' | 'email'>,
): Promise<void> {
  for (const table of tablesOfOwner) await sql.query(`DELETE FROM ${table} WHERE owner_id = $1`, [ownerId]);
  await sql.query('DELETE FROM one_time_link WHERE account_id = $1 AND lower(email) = lower($2)', [
    accountId,
    email,
  ]);
  await sql.query('UPDATE account SET email = NULL WHERE id = $1 AND lower(email) = lower($2)', [
    accountId,
    email,
  ]);
  await sql.query('DELETE FROM owner WHERE id = $1', [ownerId]);
}
