import type { AccountBook } from '../accounts/account-book.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { Candidate } from '../catalogue/model.ts';
import type { Settlements } from '../ledger/settlements.ts';
import type { Krw } from '../money/krw.ts';
import type { Clock } from '../time/clock.ts';
import { seoulDayAt } from '../time/period.ts';
import { type Health, halfAnHourMs } from '../upstreams/health.ts';
import type { Ask, AskKind } from '../wire/chat.ts';
import { answerStream } from './answer-stream.ts';
import { answerWhole } from './answer-whole.ts';
import { attempt, type Chain } from './attempt.ts';
import type { Asked, Asker, StreamedAnswer, WholeAnswer } from './conversation.ts';
import { countPrompt } from './count-tokens.ts';
import { admit, estimate } from './holds.ts';
import { chainOf, countingLimit, plan } from './plan.ts';
import type { Measured } from './preferences.ts';
import { readAsk } from './read.ts';
import { Session } from './session.ts';

/** What the path of a call needs. */
export interface InferenceParts {
  readonly accounts: AccountBook;
  readonly settlements: Settlements;
  /** The catalogue in force now. */
  readonly catalogue: () => Catalogue;
  readonly chain: Chain;
  readonly clock: Clock;
  readonly debtFloor: Krw;
  readonly maxBodyBytes: number;
  readonly keepAliveMs: number;
  readonly streamIdleTimeoutMs: number;
}

/** One request to a model, with its caller identified. */
export interface InferenceCall {
  readonly caller: Asker;
  readonly exchange: Asked;
}

/**
 * The path of one call (design: admit, read, resolve, plan, attempt, relay, settle). Whatever is refused or fails after the
 * caller was identified is on record at zero cost.
 */
export async function infer(
  parts: InferenceParts,
  kind: AskKind,
  { caller, exchange }: InferenceCall,
): Promise<WholeAnswer | StreamedAnswer> {
  const { key, accountId } = caller;
  const { settlements, clock, chain } = parts;
  const account = parts.accounts.peek(accountId);
  if (account === undefined) throw new Error('an identified caller has its account in memory');
  const session = new Session({ account, key, exchange, endpoint: kind, settlements, clock });
  const admitted = (): void => admit(account, key, parts.debtFloor, seoulDayAt(clock.now()));
  try {
    admitted();
    const ask = readAsk(kind, await exchange.body(parts.maxBodyBytes), exchange.header('x-session-id'));
    session.ask = ask;
    const candidates = await candidatesFor(parts, ask);
    // Others were admitted while the body came in: what counts is this turn, in which the hold is placed.
    admitted();
    session.hold.place(estimate(ask, candidates));
    const answer = await attempt(chain, candidates, ask, {
      accountId,
      requestId: exchange.requestId,
      signal: exchange.signal,
      attempts: session.attempts,
    });
    session.firstWordMs = clock.monotonic();
    const answering = { ...parts, health: chain.health, session, ask, answer, exchange };
    return ask.stream ? answerStream(answering) : await answerWhole(answering);
  } catch (thrown) {
    await session.fail(thrown);
    throw thrown;
  }
}

/** Resolves and plans: the candidates that can take the request, in order. The prompt is counted only when its size matters. */
async function candidatesFor(parts: InferenceParts, ask: Ask): Promise<readonly Candidate[]> {
  const models = parts.catalogue().resolve(ask.models);
  const limit = countingLimit(ask, models);
  const promptTokens = limit === null ? 0 : await countPrompt(ask, limit);
  return chainOf(
    ask,
    plan(ask, models, promptTokens, ({ label }) => measuredOf(parts.chain.health, label)),
  );
}

/** The medians of the last half hour. */
function measuredOf(health: Health, label: string): Measured {
  const seen = health.of(label);
  return {
    throughput: seen.throughput(halfAnHourMs)?.p50 ?? null,
    latency: seen.latency(halfAnHourMs)?.p50 ?? null,
  };
}
