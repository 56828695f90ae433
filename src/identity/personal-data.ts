import type { Sql } from '../store/sql.ts';
import { isoOf, isoOrNull } from '../time/clock.ts';
import { listOidcIdentities } from './oidc-sql.ts';
import { findOwner } from './owners-sql.ts';
import { listPasskeys } from './passkeys-sql.ts';
import { listSessions } from './sessions-sql.ts';

/**
 * Everything that is stored about an owner, as JSON for the person. Hashes and secrets are not in
 * it. Null: no such owner.
 */
export async function exportPersonalData(sql: Sql, ownerId: number): Promise<object | null> {
  const owner = await findOwner(sql, ownerId);
  if (owner === null) return null;
  const passkeys = await listPasskeys(sql, 'owner', ownerId);
  const sessions = await listSessions(sql, { kind: 'one-owner', ownerId });
  const identities = await listOidcIdentities(sql, ownerId);
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
    passkeys: passkeys.map(({ name, createdAtMs, lastUsedAtMs }) => ({
      name,
      created_at: isoOf(createdAtMs),
      last_used_at: isoOrNull(lastUsedAtMs),
    })),
    sessions: sessions.map(({ via, address, userAgent, createdAtMs, lastSeenAtMs }) => ({
      via,
      address,
      user_agent: userAgent,
      created_at: isoOf(createdAtMs),
      last_seen_at: isoOf(lastSeenAtMs),
    })),
    openid_identities: identities.map(({ issuer, subject, createdAtMs }) => ({
      issuer,
      subject,
      created_at: isoOf(createdAtMs),
    })),
  };
}
