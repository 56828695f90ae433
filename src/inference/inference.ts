import type { AccountCache } from '../accounts/account-cache.ts';
import type { Caller } from '../accounts/authenticate.ts';
import type { KeyRow } from '../accounts/keys-sql.ts';
import { assertValid } from '../accounts/rules.ts';
import type { SpendLimits } from '../accounts/spend-limits.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { DrainView } from '../catalogue/model.ts';
import { Refusal, refuse } from '../errors/catalogue.ts';
import { messages } from '../errors/messages.ts';
import type { RateGate } from '../http/rate-limit.ts';
import { countPrompt } from '../metering/count-tokens.ts';
import { chainOf, countingLimit, type Plan, plan, seedOf } from '../routing/plan.ts';
import { allowedModels } from '../routing/restrictions.ts';
import type { CompletionKind, CompletionRequest } from '../wire/chat.ts';
import { namesOf } from '../wire/preferences.ts';
import type { Reply } from '../wire/reply.ts';
import type { RequestContext } from '../wire/request-context.ts';
import { attempt, type Chain } from './attempt.ts';
import { estimate } from './estimate.ts';
import { readCompletionRequest } from './parse-request.ts';
import type { Refusals } from './refusals.ts';
import { type ResponseParts, respondJson, respondStream } from './respond.ts';
import { type Admitted, Session, type SessionParts } from './session.ts';

/** What the path of a call needs of the gateway. */
export interface InferenceParts extends ResponseParts, SessionParts {
  readonly accounts: Pick<AccountCache, 'getCached'>;
  /** The catalogue in force now. */
  readonly catalogue: () => Pick<Catalogue, 'resolve'>;
  /** The candidates that get no new requests. */
  readonly drains: DrainView;
  readonly chain: Chain;
  /** Settled figures against which requests are refused (spec:money/6.2). */
  readonly spendLimits: Pick<SpendLimits, 'assertFunded'>;
  readonly refusals: Pick<Refusals, 'note'>;
  /** Counts the requests of keys with `rpm_limit`. */
  readonly rate: Pick<RateGate, 'takeOfMinute'>;
}

/** One request to a model, with its caller identified. */
export interface InferenceCall {
  readonly caller: Caller;
  readonly exchange: RequestContext;
}

/**
 * The path of one call: fund, read, resolve, plan, reserve, attempt, relay, settle. A request that is
 * refused or fails after its caller was identified is recorded at zero cost.
 */
export async function infer(
  parts: InferenceParts,
  kind: CompletionKind,
  { caller, exchange }: InferenceCall,
): Promise<Reply> {
  const { key, accountId } = caller;
  const account = parts.accounts.getCached(accountId);
  if (account === undefined) throw new Error('the account of an identified caller is not in memory');
  const admitted = { account, key, exchange, endpoint: kind };
  let session: Session;
  try {
    parts.spendLimits.assertFunded(account, key);
    const max = key.row.restrictions?.rpm_limit;
    session = max === undefined ? new Session(parts, admitted) : await openWithinRate(parts, admitted, max);
  } catch (refusal) {
    if (refusal instanceof Refusal)
      parts.refusals.note({ hash: key.row.hash, key, exchange, endpoint: kind, refusal });
    throw refusal;
  }
  try {
    const body = await exchange.json(parts.chain.limits().bodyBytes);
    // Reading may take minutes. The session pins the key, so a revocation meanwhile is seen here.
    assertValid(key, 'inference', parts.clock.now());
    const request = readCompletionRequest(kind, body, exchange.header('x-session-id'));
    session.read(request);
    const planning = planFor(parts, request, { uuid: session.uuid, row: key.row });
    const planned = planning instanceof Promise ? await planning : planning;
    session.planned(request, planned);
    const candidates = chainOf(request, planned);
    // Other requests have settled while the body was read: the figures of this turn count, in which
    // the cost is reserved.
    parts.spendLimits.assertFunded(account, key);
    const waiting = session.reserve(
      estimate(request, candidates, parts.sizes),
      parts.chain.limits().upstreamTimeoutMs,
    );
    if (waiting !== undefined) await waiting;
    const response = await attempt(parts.chain, candidates, request, session);
    session.contentArrived(response.candidate);
    // The request that was sent to the upstream is freed; the parsed body stays.
    exchange.memory?.setBytes('body', body.bytes);
    const context = { parts, session, request, response };
    return request.stream ? respondStream(context) : await respondJson(context);
  } catch (thrown) {
    await session.fail(thrown);
    throw thrown;
  }
}

/**
 * Opens the session of a request within the requests that its key may send in a minute. Account and
 * key stay in memory meanwhile: the session must charge these very objects.
 */
async function openWithinRate(parts: InferenceParts, admitted: Admitted, max: number): Promise<Session> {
  const { account, key } = admitted;
  account.pin();
  key.pin();
  try {
    const waitSec = await parts.rate.takeOfMinute(`key ${key.row.id}`, max);
    if (waitSec === null) return new Session(parts, admitted);
    throw refuse('rate_limit_exceeded', messages.tooManyRequestsOfKey(max), { retry_after_sec: waitSec });
  } finally {
    account.unpin();
    key.unpin();
  }
}

/** Resolves and plans. The prompt is counted, with a promise, only when its size matters. */
function planFor(
  parts: InferenceParts,
  request: CompletionRequest,
  { uuid, row: { accountId, restrictions } }: { readonly uuid: string; readonly row: KeyRow },
): Plan | Promise<Plan> {
  const models = allowedModels(parts.catalogue().resolve(request.models), restrictions);
  const limit = countingLimit(request, models);
  const planWith = (promptTokens: number): Plan =>
    plan(request, models, {
      promptTokens,
      health: parts.chain.health,
      drains: parts.drains,
      allowed: namesOf(restrictions?.allowed_providers),
      ...seedOf(request, accountId, uuid),
    });
  return limit === null ? planWith(0) : countPrompt(request, limit, parts.count).then(planWith);
}
