import { type Refusal, refuse } from '../errors/catalogue.ts';
import { messages } from '../errors/messages.ts';
import { type Krw, krwOfMicro, krwToDecimal } from '../money/krw.ts';
import type { KeyKind } from './api-key.ts';
import type { Key } from './key.ts';
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

/** What decides whether a key may call. */
export interface KeyState {
  readonly row: KeyRow;
  readonly nowMs: number;
  /** The settled balance of its account. */
  readonly balance: Krw;
  /** What counts against its limit. */
  readonly spent: Krw;
}

/** A reason to refuse the calls of a key, and the error that they get. */
export interface KeyRule<Known = KeyState> {
  readonly name: Exclude<KeyStanding, 'active'> | 'limit';
  readonly applies: (state: Known) => boolean;
  readonly refusal: (state: Known) => Refusal;
}

/** The rules that only look at the key itself. */
export const ownRules: readonly KeyRule<Pick<KeyState, 'row' | 'nowMs'>>[] = [
  { name: 'revoked', applies: ({ row }) => row.revokedAtMs !== null, refusal: invalidKey },
  { name: 'switched_off', applies: ({ row }) => row.userDisabled, refusal: invalidKey },
  {
    name: 'expired',
    applies: ({ row, nowMs }) => row.expiresAtMs !== null && nowMs >= row.expiresAtMs,
    refusal: () => refuse('expired_api_key', messages.expiredApiKey()),
  },
  {
    name: 'suspended_by_admin',
    applies: ({ row }) => row.adminSuspended,
    refusal: () => refuse('key_suspended', messages.keySuspended()),
  },
];

export const creditRule: KeyRule<Pick<KeyState, 'balance'>> = {
  name: 'suspended_no_credit',
  applies: ({ balance }) => balance <= 0n,
  refusal: ({ balance }) => noCredit(balance),
};

/** The key's spend in its period is at or above its limit (spec:money/6.3). */
export const limitRule: KeyRule<Pick<KeyState, 'row' | 'spent'>> = {
  name: 'limit',
  applies: ({ row, spent }) => row.limitMicro !== null && spent >= row.limitMicro,
  refusal: ({ row, spent }) =>
    refuse('key_limit_exceeded', messages.keyLimitExceeded(), {
      limit_krw: krwToDecimal(krwOfMicro(row.limitMicro ?? 0n)),
      usage_krw: krwToDecimal(spent),
    }),
};

/**
 * Why a key may not call, in the order in which the API checks it (spec:errors/5.2): a caller gets
 * the refusal of the first that applies.
 */
export const keyRules: readonly KeyRule[] = [...ownRules, creditRule, limitRule];

/** Throws the refusal of the first rule that applies. */
export function refuseFirst<Known>(rules: readonly KeyRule<Known>[], state: Known): void {
  for (const rule of rules) if (rule.applies(state)) throw rule.refusal(state);
}

/** The credential that an endpoint requires of its caller (spec:api/1.4). */
export type Credential = 'none' | KeyKind | 'either';

const creditRules = [creditRule];

/**
 * Refuses a key that may not use the endpoint, in the order of spec:errors/5.2: unknown, revoked,
 * off or of the wrong kind; expired; suspended by the administrator; without credit. `balance` is
 * the balance of the key's account.
 */
export function assertMayCall(
  key: Key | null,
  needs: Exclude<Credential, 'none'>,
  nowMs: number,
  balance: (accountId: number) => Krw,
): asserts key is Key {
  if (key === null) throw invalidKey();
  assertValid(key, needs, nowMs);
  refuseFirst(creditRules, { balance: balance(key.row.accountId) });
}

/**
 * Refuses a known key for its own state. Called again after a body was read: that may take minutes.
 */
export function assertValid({ row }: Key, needs: Exclude<Credential, 'none'>, nowMs: number): void {
  if (needs !== 'either' && row.kind !== needs) throw invalidKey();
  refuseFirst(ownRules, { row, nowMs });
}

/**
 * The standing of a key at an instant in epoch milliseconds; `balanceMicro` is the settled balance of
 * its account.
 */
export function standingOf(row: KeyRow, balanceMicro: bigint, nowMs: number): KeyStanding {
  const state = { row, balance: krwOfMicro(balanceMicro), nowMs };
  const applied = [...ownRules, creditRule].filter((rule) => rule.applies(state)).map(({ name }) => name);
  return keyStandings.find((standing) => standing !== 'active' && applied.includes(standing)) ?? 'active';
}

/**
 * The member `disabled` of the key object (spec:api/5.6): any standing but `active`; expiry, which
 * has come at no key before all time, does not count.
 */
export function isDisabled(row: KeyRow, accountHasNoCredit: boolean): boolean {
  const state = { row, nowMs: Number.NEGATIVE_INFINITY };
  return accountHasNoCredit || ownRules.some((rule) => rule.applies(state));
}

/** One body for every way in which a key is invalid, so that it reveals nothing. */
export function invalidKey(): Refusal {
  return refuse('invalid_api_key', messages.invalidApiKey());
}

/** `402 insufficient_credits` with the balance as it is now (spec:errors/3.2). */
export function noCredit(balance: Krw): Refusal {
  return refuse('insufficient_credits', messages.insufficientCredits(), {
    balance_krw: krwToDecimal(balance),
  });
}
