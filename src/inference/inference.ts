import type { Account } from '../accounts/account.ts';
import type { AccountBook } from '../accounts/account-book.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { Key } from '../keys/key.ts';
import type { Settlements } from '../ledger/settlements.ts';
import type { Krw } from '../money/krw.ts';
import type { Covered } from '../nodes/spend-shares.ts';
import type { Clock } from '../time/clock.ts';
import { seoulDayAt } from '../time/period.ts';
import type { Ask, AskKind } from '../wire/chat.ts';
import { answerStream } from './answer-stream.ts';
import { answerWhole } from './answer-whole.ts';
import { attempt, type Chain } from './attempt.ts';
import type { Asked, Asker, StreamedAnswer, WholeAnswer } from './conversation.ts';
import { type CountTexts, countPrompt } from './count-tokens.ts';
import { admit, estimate, exhausted } from './holds.ts';
import { chainOf, countingLimit, type Plan, plan } from './plan.ts';
import { readParsedAsk } from './read.ts';
import { routeDetail } from './request-record.ts';
import { seedOf } from './seed.ts';
import { Session } from './session.ts';

/** What the path of a call needs. */
export interface InferenceParts {
  readonly accounts: AccountBook;
  readonly settlements: Settlements;
  /** The catalogue in force now. */
  readonly catalogue: () => Catalogue;
  readonly chain: Chain;
  readonly clock: Clock;
  /** Counts a request where all nodes can see it; undefined when that is done at once, nobody else serving. */
  readonly place: (
    request: { readonly account: Account; readonly key: Key; readonly amount: Krw },
    count: () => void,
  ) => Covered | Promise<Covered> | undefined;
  /** Our own count of texts. */
  readonly count: CountTexts;
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
    const body = await exchange.json(parts.maxBodyBytes);
    const ask = readParsedAsk(kind, body, exchange.header('x-session-id'));
    session.ask = ask;
    const planned = await planFor(parts, ask, { uuid: session.uuid, accountId });
    session.route = routeDetail(ask, planned);
    const candidates = chainOf(ask, planned);
    // Others were admitted while the body came in: what counts is this turn, in which the hold is placed.
    admitted();
    const amount = estimate(ask, candidates);
    const placing = parts.place({ account, key, amount }, () => session.hold.place(amount));
    const placed = placing === undefined ? undefined : await placing;
    if (placed?.kind === 'exhausted') throw exhausted(placed.by.kind, account, key, placed.free);
    const answer = await attempt(chain, candidates, ask, {
      accountId,
      requestId: exchange.requestId,
      signal: exchange.signal,
      memory: exchange.memory,
      attempts: session.attempts,
    });
    session.firstWordMs = clock.monotonic();
    // What was sent to the upstream is let go of; what was parsed stays.
    exchange.memory?.hold('body', body.bytes);
    const answering = { ...parts, health: chain.health, session, ask, answer, exchange };
    return ask.stream ? answerStream(answering) : await answerWhole(answering);
  } catch (thrown) {
    await session.fail(thrown);
    throw thrown;
  }
}

/** Resolves and plans. The prompt is counted only when its size matters. */
async function planFor(
  parts: InferenceParts,
  ask: Ask,
  { uuid, accountId }: { readonly uuid: string; readonly accountId: number },
): Promise<Plan> {
  const models = parts.catalogue().resolve(ask.models);
  const limit = countingLimit(ask, models);
  const promptTokens = limit === null ? 0 : await countPrompt(ask, limit, parts.count);
  return plan(ask, models, { promptTokens, health: parts.chain.health, ...seedOf(ask, accountId, uuid) });
}
