import type { Sql } from '../store/sql.ts';
import { isoOf } from '../time/clock.ts';
import { findOwner, lockOwner } from './owners-sql.ts';
import { deleteRowsOfOwner, readRowsOfOwner } from './personal-data-sql.ts';

/**
 * Everything that is stored about an owner, as JSON for the person. Hashes and secrets are not in
 * it. Null: no such owner.
 */
export async function exportPersonalData(sql: Sql, ownerId: number): Promise<object | null> {
  const owner = await findOwner(sql, ownerId);
  if (owner === null) return null;
  const { passkeys, sessions, identities } = await readRowsOfOwner(sql, ownerId);
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
 * Deletes an owner and all that belongs to the person; false when there is none. Where the contact
 * address of the account is the owner's, it is deleted too.
 */
export async function deletePersonalData(sql: Sql, ownerId: number): Promise<boolean> {
  const owner = await lockOwner(sql, ownerId);
  if (owner === null) return false;
  await deleteRowsOfOwner(sql, owner);
  return true;
}

function isoOrNull(atMs: number | null): string | null {
  return atMs === null ? null : isoOf(atMs);
}
