import type { KeyRow } from './keys-sql.ts';

/**
 * Every standing that a key can have, the strongest first: a key reports the first one that applies
 * (spec:api/8.1).
 */
export const keyStandings = [
  'revoked',
  'suspended_by_admin',
  'expired',
  'switched_off',
  'suspended_no_credit',
  'active',
] as const;

export type KeyStanding = (typeof keyStandings)[number];

/**
 * The standing of a key at an instant in epoch milliseconds; `balanceMicro` is the settled balance
 * of its account.
 */
export function standingOf(row: KeyRow, balanceMicro: bigint, nowMs: number): KeyStanding {
  if (row.revokedAtMs !== null) return 'revoked';
  if (row.adminSuspended) return 'suspended_by_admin';
  if (row.expiresAtMs !== null && nowMs >= row.expiresAtMs) return 'expired';
  if (row.userDisabled) return 'switched_off';
  return balanceMicro <= 0n ? 'suspended_no_credit' : 'active';
}

/**
 * The member `disabled` of the key object (spec:api/5.6): disabled by the owner, or any standing
 * but `active`; expiry does not count.
 */
export function isDisabled(row: KeyRow, accountHasNoCredit: boolean): boolean {
  return row.userDisabled || row.adminSuspended || row.revokedAtMs !== null || accountHasNoCredit;
}
