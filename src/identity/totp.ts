import { randomBytes } from 'node:crypto';
import type { Sql } from '../store/sql.ts';
import { lockOwner, type OwnerCredentials, setTotp } from './owners-sql.ts';
import { deleteRecoveryCode, replaceRecoveryCodes } from './recovery-codes-sql.ts';
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
  const totpSecret = newTotpSecret();
  await setTotp(sql, { ...owner, totpSecret, totpStep: 0 });
  return { secret: base32(totpSecret), uri: totpUri(totpSecret, { issuer: 'Naru', name: owner.email }) };
}

/**
 * Turns TOTP on when the code proves that the app has the secret; returns the recovery codes, which
 * are not shown again. Null when the code is wrong or nothing was begun.
 */
export async function enableTotp(
  sql: Sql,
  ownerId: number,
  code: string,
  nowMs: number,
): Promise<readonly string[] | null> {
  const owner = await lockOwner(sql, ownerId);
  if (owner?.totpSecret == null || owner.totpEnabledAtMs !== null) return null;
  const totpStep = matchingStep(owner.totpSecret, code, nowMs, owner.totpStep);
  if (totpStep === null) return null;
  await setTotp(sql, { ...owner, totpEnabledAtMs: nowMs, totpStep });
  const codes = Array.from({ length: recoveryCodes }, newRecoveryCode);
  await replaceRecoveryCodes(sql, ownerId, codes.map(recoveryHash));
  return codes;
}

/** Turns TOTP off and deletes its secret and its recovery codes. */
export async function disableTotp(sql: Sql, ownerId: number): Promise<void> {
  await setTotp(sql, { ownerId, totpSecret: null, totpEnabledAtMs: null, totpStep: 0 });
  await replaceRecoveryCodes(sql, ownerId, []);
}

/**
 * Whether this is a current code of the owner, or one of its recovery codes. Each is accepted once,
 * also when it arrives twice at the same time: the caller holds the lock of the owner's row.
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
  const totpStep = matchingStep(totpSecret, typed, nowMs, owner.totpStep);
  if (totpStep === null) return deleteRecoveryCode(sql, ownerId, recoveryHash(typed));
  await setTotp(sql, { ...owner, totpStep });
  return true;
}

/** 80 random bits as four groups of four characters. */
function newRecoveryCode(): string {
  return (base32(randomBytes(10)).toLowerCase().match(/.{4}/g) ?? []).join('-');
}

/** A code has 80 random bits: a plain hash is enough. */
function recoveryHash(code: string): Buffer {
  return hashToken(code.replace(/[\s-]/g, '').toLowerCase());
}
