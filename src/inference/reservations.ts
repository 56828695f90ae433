import type { Account } from '../accounts/account.ts';
import type { Candidate } from '../catalogue/model.ts';
import { Refusal, refuse } from '../errors/catalogue.ts';
import { messages } from '../errors/messages.ts';
import { assertMayCall, noCredit } from '../keys/authenticate.ts';
import type { Key } from '../keys/key.ts';
import { type Krw, krwToDecimal, zeroKrw } from '../money/krw.ts';
import { costOf } from '../money/price.ts';
import { seoulDayAt } from '../time/period.ts';
import type { CompletionRequest } from '../wire/chat.ts';
import type { CompletionSizes } from './completion-sizes.ts';

/** Prompt tokens that one image or recording may amount to. */
const maxTokensPerMediaPart = 3_000;
/** The least that is expected of a completion whose size the request does not bound. */
const minExpectedTokens = 1_024;

/**
 * The hold of one request on its account and key: the most it is estimated to cost, counted for as long as it is in flight
 * (spec:money/6.6). A later request waits in line while the holds leave no room for it, so whatever the concurrency, the floor is
 * overrun by one request at most. From its beginning to its end neither account nor key is forgotten.
 */
export class Reservation {
  readonly #account: Account;
  readonly #key: Key;
  readonly #onEnd: () => void;
  #amount: Krw = zeroKrw;
  #ended = false;

  /** `onEnd` is called once, when there may be room for another request. */
  constructor(account: Account, key: Key, onEnd: () => void) {
    this.#account = account;
    this.#key = key;
    this.#onEnd = onEnd;
    account.pin();
    key.pin();
  }

  /** Counts the request with its estimate, in the same turn in which it was admitted again. */
  reserve(amount: Krw): void {
    this.#amount = amount;
    this.#account.reserve(amount);
    this.#key.reserve(amount);
  }

  /** Ends the hold; any further call does nothing. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#account.release(this.#amount);
    this.#key.release(this.#amount);
    this.#onEnd();
    this.#account.unpin();
    this.#key.unpin();
  }
}

/** Whose money a request is admitted with, and what it is compared with. */
export interface SpendStanding {
  readonly account: Account;
  readonly key: Key;
  /** Positive. */
  readonly debtFloor: Krw;
  readonly nowMs: number;
}

/**
 * Refuses a request with 402 by settled figures alone: `insufficient_credits` when the balance is strictly below the floor (spec:money/6.2),
 * `key_limit_exceeded` when the key's spend in its period is at or above its limit (spec:money/6.3). What is in flight never causes a
 * refusal (spec:money/6.4).
 */
export function assertFunded({ account, key, debtFloor, nowMs }: SpendStanding): void {
  if (account.balance < -debtFloor) throw noCredit(account.balance);
  const { limit } = key;
  if (limit === null) return;
  const usage = key.usageAt(seoulDayAt(nowMs));
  if (usage >= limit) throw limitReached(limit, usage);
}

/**
 * Why a request that waits in line may not be admitted any more; null when it may. It has not been admitted yet, so it is refused for
 * whatever would refuse it now, an account without credit included.
 */
export function refusalInLine(standing: SpendStanding): Error | null {
  const { account, key, nowMs } = standing;
  try {
    assertMayCall(key, 'inference', nowMs, () => account.balance);
    assertFunded(standing);
    return null;
  } catch (refusal) {
    if (refusal instanceof Refusal) return refusal;
    throw refusal;
  }
}

function limitReached(limit: Krw, usage: Krw): Error {
  return refuse('key_limit_exceeded', messages.keyLimitExceeded(), {
    limit_krw: krwToDecimal(limit),
    usage_krw: krwToDecimal(usage),
  });
}

/**
 * The most that any candidate of the chain is expected to cost for this request: the prompt, and the completion that it allows. Without
 * a `max_tokens` that is the completion which its model showed lately, 1,024 tokens at least (spec:money/6.10).
 */
export function estimate(ask: CompletionRequest, chain: readonly Candidate[], sizes: CompletionSizes): Krw {
  const promptTokens = ask.textBytes + ask.mediaParts * maxTokensPerMediaPart;
  return chain
    .map((candidate) => costOf(candidate.price, unitsFor(ask, candidate, { promptTokens, sizes })))
    .reduce(larger, zeroKrw);
}

function unitsFor(
  ask: CompletionRequest,
  { modelId, maxCompletionTokens }: Candidate,
  { promptTokens, sizes }: { readonly promptTokens: number; readonly sizes: CompletionSizes },
): Parameters<typeof costOf>[1] {
  const expected = ask.maxTokens ?? Math.max(minExpectedTokens, sizes.expected(modelId));
  const completionTokens = Math.min(expected, maxCompletionTokens) * ask.choices;
  return { promptTokens, completionTokens, cacheReadTokens: 0, cacheWriteTokens: 0 };
}

function larger(a: Krw, b: Krw): Krw {
  return a > b ? a : b;
}
