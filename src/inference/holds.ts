import type { Account } from '../accounts/account.ts';
import type { Candidate } from '../catalogue/model.ts';
import { refuse } from '../errors/catalogue.ts';
import { noCredit } from '../keys/authenticate.ts';
import type { Key } from '../keys/key.ts';
import { type Krw, krwOfMicro, krwToDecimal, zeroKrw } from '../money/krw.ts';
import { costOf } from '../money/price.ts';
import type { Ask } from '../wire/chat.ts';

/** Prompt tokens that one image or recording may amount to. */
const mostTokensPerMediaPart = 3_000;

/**
 * The hold of one request on its account and key: the most it is estimated to cost, counted for as long as it is in flight
 * (decisions.md A-25). Admission looks at the holds of the others, so whatever the concurrency, the floor is overrun by one request at
 * most. From its beginning to its end neither account nor key is forgotten.
 */
export class Hold {
  readonly #account: Account;
  readonly #key: Key;
  #amount: Krw = zeroKrw;
  #ended = false;

  constructor(account: Account, key: Key) {
    this.#account = account;
    this.#key = key;
    account.keep();
    key.keep();
  }

  /** Counts the request with its estimate, in the same turn in which it was admitted again. */
  place(amount: Krw): void {
    this.#amount = amount;
    this.#account.hold(amount);
    this.#key.hold(amount);
  }

  /** Ends the hold; any further call does nothing. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#account.release(this.#amount);
    this.#key.release(this.#amount);
    this.#account.letGo();
    this.#key.letGo();
  }
}

/**
 * Admits a request or refuses it with 402: `insufficient_credits` when the balance less the holds of the others is strictly
 * below the floor, `key_limit_exceeded` when the key's spend in its period plus the holds of its others is at or above
 * its limit (service.md §8). `debtFloor` is positive, `day` the Seoul day.
 */
export function admit(account: Account, key: Key, debtFloor: Krw, day: number): void {
  if (account.balanceAfterHolds < -debtFloor) throw noCredit(account.balance);
  const { limit } = key;
  if (limit === null) return;
  const usage = key.usageWithHoldsAt(day);
  if (usage >= limit) throw limitReached(limit, usage);
}

/**
 * The refusal of a request that this node could admit, but not beside what other nodes have admitted: `free` is what they leave, so the
 * usage that is told counts their holds.
 */
export function exhausted(by: 'account' | 'key', account: Account, key: Key, free: bigint): Error {
  if (by === 'account') return noCredit(account.balance);
  const limit = key.limit ?? zeroKrw;
  return limitReached(limit, krwOfMicro(limit - free));
}

function limitReached(limit: Krw, usage: Krw): Error {
  return refuse(
    'key_limit_exceeded',
    '키의 사용 한도에 도달했습니다. The spend limit of this key is reached.',
    { limit_krw: krwToDecimal(limit), usage_krw: krwToDecimal(usage) },
  );
}

/** The most that any candidate of the chain may cost for this request. */
export function estimate(ask: Ask, chain: readonly Candidate[]): Krw {
  const promptTokens = ask.textBytes + ask.mediaParts * mostTokensPerMediaPart;
  return chain
    .map((candidate) => costOf(candidate.price, unitsFor(ask, candidate, promptTokens)))
    .reduce(larger, zeroKrw);
}

function unitsFor(ask: Ask, candidate: Candidate, promptTokens: number): Parameters<typeof costOf>[1] {
  const completionTokens =
    Math.min(ask.maxTokens ?? candidate.maxCompletionTokens, candidate.maxCompletionTokens) * ask.choices;
  return { promptTokens, completionTokens, cacheReadTokens: 0, cacheWriteTokens: 0 };
}

function larger(a: Krw, b: Krw): Krw {
  return a > b ? a : b;
}
