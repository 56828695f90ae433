import type { KeyRow } from './keys-sql.ts';
import { type Spend, spendOf } from './spend.ts';

/** What refuses the calls of a key at an instant: the error of the API, and what causes it. */
export interface KeyRefusal {
  readonly status: 401 | 402 | 403;
  readonly type:
    | 'invalid_api_key'
    | 'expired_api_key'
    | 'key_suspended'
    | 'insufficient_credits'
    | 'key_limit_exceeded';
  readonly cause: 'revoked' | 'switched_off' | 'expired' | 'suspended' | 'no_credit' | 'limit';
}

/**
 * Everything that refuses an inference call with this key, in the order in which the API checks it
 * (spec:errors/5.2): a caller sees the first. Empty: nothing of the key or its account does.
 */
export function refusalsOf(
  row: KeyRow,
  spend: Spend,
  balanceMicro: bigint,
  nowMs: number,
): readonly KeyRefusal[] {
  const isLimitUsed = row.limitMicro !== null && spendOf(spend, row.limitReset) >= row.limitMicro;
  const checks: readonly (readonly [applies: boolean, refusal: KeyRefusal])[] = [
    [row.revokedAtMs !== null, { status: 401, type: 'invalid_api_key', cause: 'revoked' }],
    [row.userDisabled, { status: 401, type: 'invalid_api_key', cause: 'switched_off' }],
    [
      row.expiresAtMs !== null && nowMs >= row.expiresAtMs,
      { status: 401, type: 'expired_api_key', cause: 'expired' },
    ],
    [row.adminSuspended, { status: 403, type: 'key_suspended', cause: 'suspended' }],
    [balanceMicro <= 0n, { status: 402, type: 'insufficient_credits', cause: 'no_credit' }],
    [isLimitUsed, { status: 402, type: 'key_limit_exceeded', cause: 'limit' }],
  ];
  return checks.filter(([applies]) => applies).map(([, refusal]) => refusal);
}
