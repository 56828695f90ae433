import type { Account } from '../accounts/account.ts';
import type { AccountCache } from '../accounts/account-cache.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import { Refusal } from '../errors/catalogue.ts';
import { assertValid, type Caller } from '../keys/authenticate.ts';
import type { Key } from '../keys/key.ts';
import type { Settlements } from '../ledger/settlements.ts';
import { countPrompt } from '../metering/count-tokens.ts';
import type { GenerationObserver } from '../metrics/observers.ts';
import type { Krw } from '../money/krw.ts';
import { chainOf, countingLimit, type Plan, plan } from '../routing/plan.ts';
import { seedOf } from '../routing/session-seed.ts';
import type { Clock } from '../time/clock.ts';
import type { CompletionKind, CompletionRequest } from '../wire/chat.ts';
import type { Reply } from '../wire/reply.ts';
import type { RequestContext } from '../wire/request-context.ts';
import { attempt, type Chain } from './attempt.ts';
import { readParsedAsk } from './parse-request.ts';
import type { Refusals } from './refusals.ts';
import { routeDetail } from './request-record.ts';
import { assertFunded, estimate, refusalInLine, type SpendStanding } from './reservations.ts';
import { respondJson } from './respond-json.ts';
import { respondStream } from './respond-stream.ts';
import type { ResponseParts } from './response-context.ts';
import { Session } from './session.ts';

/** A request that is about to be counted against its account and key. */
export interface Admission {
  readonly account: Account;
  readonly key: Key;
  /** Its estimate. */
  readonly amount: Krw;
  /** Why it may not be admitted any more while it waits; null when it may. */
  readonly refusal: () => Error | null;
  /** Counts it, in the turn in which it is admitted. */
  readonly reserve: () => void;
  readonly signal: AbortSignal;
  readonly maxWaitMs: number;
}

/** Where requests are admitted, over all nodes together (spec:money/6.11). */
export interface Admissions {
  /**
   * Undefined: it was placed at once. Otherwise it waits in line: resolves once it is placed, rejects with its refusal, with the reason
   * of its signal, or with `408 timeout`.
   */
  enter(request: Admission): Promise<void> | undefined;
  /** A request that was placed has ended. */
  released(account: Account, key: Key): void;
}

/** What the path of a call needs. */
export interface InferenceParts extends ResponseParts {
  readonly accounts: AccountCache;
  readonly settlements: Settlements;
  /** The catalogue in force now. */
  readonly catalogue: () => Catalogue;
  readonly chain: Chain;
  readonly admissions: Admissions;
  readonly refusals: Refusals;
  readonly observer: GenerationObserver;
  readonly debtFloor: Krw;
  readonly maxBodyBytes: number;
}

/** One request to a model, with its caller identified. */
export interface InferenceCall {
  readonly caller: Caller;
  readonly exchange: RequestContext;
}

/**
 * The path of one call (design: admit, read, resolve, plan, attempt, relay, settle). Whatever is refused or fails after the
 * caller was identified is on record at zero cost.
 */
export async function infer(
  parts: InferenceParts,
  kind: CompletionKind,
  { caller, exchange }: InferenceCall,
): Promise<Reply> {
  const { key, accountId } = caller;
  const { settlements, clock, chain, observer } = parts;
  const account = parts.accounts.getCached(accountId);
  if (account === undefined) throw new Error('an identified caller has its account in memory');
  const standing = (): SpendStanding => ({ account, key, debtFloor: parts.debtFloor, nowMs: clock.now() });
  try {
    assertFunded(standing());
  } catch (refusal) {
    if (refusal instanceof Refusal) parts.refusals.note({ key, exchange, endpoint: kind, refusal });
    throw refusal;
  }
  const onReleased = (): void => parts.admissions.released(account, key);
  const session = new Session({
    account,
    key,
    exchange,
    endpoint: kind,
    settlements,
    clock,
    observer,
    onReleased,
  });
  try {
    const body = await exchange.json(parts.maxBodyBytes);
    // Reading may take minutes. The session pins the key, so a revocation meanwhile is seen here.
    assertValid(key, 'inference', clock.now());
    const ask = readParsedAsk(kind, body, exchange.header('x-session-id'));
    session.ask = ask;
    const planned = await planFor(parts, ask, { uuid: session.uuid, accountId });
    session.route = routeDetail(ask, planned);
    const candidates = chainOf(ask, planned);
    // Others have settled while the body came in: what counts is this turn, in which the hold is placed.
    assertFunded(standing());
    const amount = estimate(ask, candidates, parts.sizes);
    const waiting = parts.admissions.enter({
      account,
      key,
      amount,
      refusal: () => refusalInLine(standing()),
      reserve: () => session.hold.reserve(amount),
      signal: exchange.signal,
      maxWaitMs: chain.budgetMs,
    });
    if (waiting !== undefined) await waitInLine(waiting, session, clock);
    const response = await attempt(chain, candidates, ask, {
      accountId,
      requestId: exchange.requestId,
      signal: exchange.signal,
      memory: exchange.memory,
      attempts: session.attempts,
    });
    session.firstWordMs = clock.monotonic();
    if (ask.stream) observer.firstToken(response.candidate, session.firstWordMs - exchange.startedMs);
    // The request that was sent to the upstream is freed; the parsed body stays.
    exchange.memory?.hold('body', body.bytes);
    const context = { parts, session, request: ask, response };
    return ask.stream ? respondStream(context) : await respondJson(context);
  } catch (thrown) {
    await session.fail(thrown);
    throw thrown;
  }
}

/** Waits to be admitted, and has the record say for how long. */
async function waitInLine(waiting: Promise<void>, session: Session, clock: Clock): Promise<void> {
  const startedMs = clock.monotonic();
  try {
    await waiting;
  } finally {
    session.admissionWaitMs = clock.monotonic() - startedMs;
  }
}

/** Resolves and plans. The prompt is counted only when its size matters. */
async function planFor(
  parts: InferenceParts,
  ask: CompletionRequest,
  { uuid, accountId }: { readonly uuid: string; readonly accountId: number },
): Promise<Plan> {
  const models = parts.catalogue().resolve(ask.models);
  const limit = countingLimit(ask, models);
  const promptTokens = limit === null ? 0 : await countPrompt(ask, limit, parts.count);
  return plan(ask, models, { promptTokens, health: parts.chain.health, ...seedOf(ask, accountId, uuid) });
}
