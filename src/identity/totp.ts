import { randomBytes } from 'node:crypto';
import type { Sql } from '../store/sql.ts';
import { lockOwner, type OwnerCredentials } from './owners-sql.ts';
import { hashToken } from './tokens.ts';
import { base32, matchingStep, newTotpSecret, totpUri } from './totp-code.ts';

const recoveryCodes = 10;

/** What an authenticator app needs. */
export interface TotpEnrolment {
  readonly secret: string;
  readonly uri: string;
}

/** Stores a new secret that is not in use yet; null when TOTP is on already. */
export async function beginTotp(sql: Sql, ownerId: number): Promise<TotpEnrolment | null> {
  const owner = await lockOwner(sql, ownerId);
  if (owner === null || owner.totpEnabledAtMs !== null) return null;
  const secret = newTotpSecret();
  await sql.query('UPDATE owner SET totp_secret = $2, totp_step = 0 WHERE id = $1', [ownerId, secret]);
  return { secret: base32(secret), uri: totpUri(secret, { issuer: 'Naru', name: owner.email }) };
}

/**
 * Turns TOTP on when the code proves that the app has the secret; returns the recovery codes, which are not shown
 * again. Null when the code is wrong or nothing was begun.
 */
export async function enableTotp(
  sql: Sql,
  ownerId: number,
  code: string,
  nowMs: number,
): Promise<readonly string[] | null> {
  const owner = await lockOwner(sql, ownerId);
  if (owner?.totpSecret == null || owner.totpEnabledAtMs !== null) return null;
  const step = matchingStep(owner.totpSecret, code, nowMs, owner.totpStep);
  if (step === null) return null;
  await sql.query(
    'UPDATE owner SET totp_enabled_at = to_timestamp($2::float8 / 1000), totp_step = $3 WHERE id = $1',
    [ownerId, nowMs, step],
  );
  await sql.query('DELETE FROM recovery_code WHERE owner_id = $1', [ownerId]);
  const codes = Array.from({ length: recoveryCodes }, newRecoveryCode);
  for (const one of codes)
    await sql.query('INSERT INTO recovery_code (owner_id, code_hash) VALUES ($1, $2)', [
      ownerId,
      recoveryHash(one),
    ]);
  return codes;
}

/** Turns TOTP off and deletes its secret and its recovery codes. */
export async function disableTotp(sql: Sql, ownerId: number): Promise<void> {
  await sql.query(
    'UPDATE owner SET totp_secret = NULL, totp_enabled_at = NULL, totp_step = 0 WHERE id = $1',
    [ownerId],
  );
  await sql.query('DELETE FROM recovery_code WHERE owner_id = $1', [ownerId]);
}

/**
 * Whether this is a current code of the owner, or one of its recovery codes. Each is accepted once, also when it
 * arrives twice at the same time: the caller holds the lock of the owner's row.
 */
export async function acceptCode(
  sql: Sql,
  owner: OwnerCredentials,
  code: string,
  nowMs: number,
): Promise<boolean> {
  const { ownerId, totpSecret } = owner;
  if (totpSecret === null || owner.totpEnabledAtMs === null) return false;
  const typed = code.replace(/[\s-]/g, '');
  const step = matchingStep(totpSecret, typed, nowMs, owner.totpStep);
  if (step !== null) {
    await sql.query('UPDATE owner SET totp_step = $2 WHERE id = $1', [ownerId, step]);
    return true;
  }
  const used = await sql.query(
    'DELETE FROM recovery_code WHERE owner_id = $1 AND code_hash = $2 RETURNING owner_id',
    [ownerId, recoveryHash(typed)],
  );
  return used.length > 0;
}

/** How many recovery codes an owner has left. */
export async function recoveryCodesLeft(sql: Sql, ownerId: number): Promise<number> {
  const [row] = await sql.query<{ codes: bigint }>(
    'SELECT count(*) AS codes FROM recovery_code WHERE owner_id = $1',
    [ownerId],
  );
  return Number(row?.codes ?? 0n);
}

/** 80 random bits as four groups of four characters. */
function newRecoveryCode(): string {
  return (base32(randomBytes(10)).toLowerCase().match(/.{4}/g) ?? []).join('-');
}

/** A code has 80 random bits: a plain hash is enough. */
function recoveryHash(code: string): Buffer {
  return hashToken(code.replace(/[\s-]/g, '').toLowerCase());
}
