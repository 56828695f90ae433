import type { Sql } from '../store/sql.ts';
import { isoOf } from '../time/clock.ts';
import { findOwner, lockOwner } from './owners-sql.ts';

/** Everything that is stored about an owner, as JSON for the person. Hashes and secrets are not in it. Null: no such owner. */
export async function exportPersonalData(sql: Sql, ownerId: number): Promise<object | null> {
  const owner = await findOwner(sql, ownerId);
  if (owner === null) return null;
  const passkeys = await sql.query<{ name: string; created_at: number; last_used_at: number | null }>(
    'SELECT name, created_at, last_used_at FROM passkey WHERE owner_id = $1 ORDER BY id',
    [ownerId],
  );
  const sessions = await sql.query<{
    via: string;
    address: string;
    user_agent: string;
    created_at: number;
    last_seen_at: number;
  }>(
    'SELECT via, address, user_agent, created_at, last_seen_at FROM page_session WHERE owner_id = $1 ORDER BY id',
    [ownerId],
  );
  const identities = await sql.query<{ issuer: string; subject: string; created_at: number }>(
    'SELECT issuer, subject, created_at FROM owner_oidc WHERE owner_id = $1 ORDER BY issuer',
    [ownerId],
  );
  return {
    owner: {
      id: owner.ownerId,
      account_id: owner.accountId,
      email: owner.email,
      email_verified: owner.emailVerified,
      name: owner.name,
      password_set_at: isoOrNull(owner.passwordSetAtMs),
      totp_enabled_at: isoOrNull(owner.totpEnabledAtMs),
      preferences: owner.preferences,
      created_at: isoOf(owner.createdAtMs),
    },
    passkeys: passkeys.map(({ name, created_at, last_used_at }) => ({
      name,
      created_at: isoOf(created_at),
      last_used_at: isoOrNull(last_used_at),
    })),
    sessions: sessions.map(({ created_at, last_seen_at, ...session }) => ({
      ...session,
      created_at: isoOf(created_at),
      last_seen_at: isoOf(last_seen_at),
    })),
    openid_identities: identities.map(({ created_at, ...identity }) => ({
      ...identity,
      created_at: isoOf(created_at),
    })),
  };
}

/**
 * Deletes an owner and all that belongs to the person; false when there is none. Where the contact address of the
 * account is the owner's, it is deleted too.
 */
export async function deletePersonalData(sql: Sql, ownerId: number): Promise<boolean> {
  const owner = await lockOwner(sql, ownerId);
  if (owner === null) return false;
  for (const table of [
    'passkey',
    'recovery_code',
    'owner_oidc',
    'page_session',
    'sign_in_step',
    'one_time_link',
  ])
    await sql.query(`DELETE FROM ${table} WHERE owner_id = $1`, [ownerId]);
  await sql.query('DELETE FROM one_time_link WHERE account_id = $1 AND lower(email) = lower($2)', [
    owner.accountId,
    owner.email,
  ]);
  await sql.query('UPDATE account SET email = NULL WHERE id = $1 AND lower(email) = lower($2)', [
    owner.accountId,
    owner.email,
  ]);
  await sql.query('DELETE FROM owner WHERE id = $1', [ownerId]);
  return true;
}

function isoOrNull(atMs: number | null): string | null {
  return atMs === null ? null : isoOf(atMs);
}
