import type { Account } from '../accounts/account.ts';
import type { Key } from '../accounts/key.ts';
import type { Reservation } from '../accounts/reservation.ts';
import { assertValid } from '../accounts/rules.ts';
import type { Candidate } from '../catalogue/model.ts';
import { errorTypeOf, Refusal, statusOf } from '../errors/catalogue.ts';
import { ClientDisconnected } from '../errors/request-aborted.ts';
import { Unbillable } from '../errors/unbillable.ts';
import type { AttemptRecord, GenerationDetail } from '../generations/generation.ts';
import type { Opened, SettlementRow, Settlements } from '../ledger/settlements.ts';
import type { LinkedList, ListPlace } from '../memory/linked-list.ts';
import type { ResponseTotals } from '../metering/response-totals.ts';
import type { GenerationObserver } from '../metrics/observers.ts';
import { type Krw, zeroKrw } from '../money/krw.ts';
import { billedTierOf } from '../money/price.ts';
import type { Plan } from '../routing/plan.ts';
import type { Clock } from '../time/clock.ts';
import { seoulDayAt } from '../time/period.ts';
import type { CompletionKind, CompletionRequest } from '../wire/chat.ts';
import {
  type GenerationUuid,
  generationIdOf,
  newGenerationUuid,
  withLead,
} from '../wire/ids/generation-id.ts';
import { generationOfRequest } from '../wire/ids/request-id.ts';
import type { RequestContext } from '../wire/request-context.ts';
import { noUsage, type Usage } from '../wire/usage.ts';
import type { AttemptContext } from './outcome.ts';
import {
  bodyDetail,
  type MutableDetail,
  requestDetail,
  routeOf,
  storable,
  storableOr,
} from './request-record.ts';
import type { CallTrace, CallTracer } from './tracing/call-trace.ts';

/** The recorded status of a request whose client left before the response; it is never sent. */
const clientClosedRequest = 499;

/** How a request ended, for its record. */
export interface Ending {
  readonly status: number;
  readonly errorType: string | null;
  /** What the client was told before any response. */
  readonly errorMessage?: string;
  readonly candidate: Candidate | null;
  readonly totals: ResponseTotals | null;
  readonly usage: Usage;
  readonly usageSource: GenerationDetail['usage_source'];
  readonly cost: Krw;
  readonly cancelled: boolean;
}

/** What a session needs of the gateway. */
export interface SessionParts {
  readonly settlements: Pick<Settlements, 'open' | 'settle'>;
  readonly clock: Clock;
  readonly observer: GenerationObserver;
  /** Null: calls are not traced. */
  readonly tracer: CallTracer | null;
  readonly openReservation: OpenReservation;
  /** The requests in flight of this process: those that did not end yet. */
  readonly openSessions: LinkedList<Session>;
}

/** A request whose caller is identified. */
export interface Admitted {
  readonly account: Account;
  readonly key: Key;
  readonly exchange: RequestContext;
  readonly endpoint: CompletionKind;
}

/** What a request does at the moment. `waiting`: for the settlement of others. */
export type RequestPhase = 'preparing' | 'waiting' | 'calling' | 'responding';

/** Opens the reservation of a request, which pins its account and key. */
export type OpenReservation = (account: Account, key: Key) => Reservation;

/**
 * One inference request from its identification to its record. It ends in exactly one settlement,
 * whether or not the client read the response; its reservation ends with it.
 */
export class Session implements AttemptContext {
  readonly uuid: GenerationUuid;
  readonly exchange: RequestContext;
  /** The public id, `gen-…`. */
  readonly id: string;
  readonly createdAtMs: number;
  readonly reservation: Reservation;
  /** Null: calls are not traced. */
  readonly trace: CallTrace | null;
  readonly #parts: SessionParts;
  readonly #account: Account;
  readonly #key: Key;
  readonly #endpoint: CompletionKind;
  readonly #opened: Opened;
  /** What was known when it was admitted, as JSON text: its record begins with it. */
  readonly #openDetail: string;
  readonly #app: GenerationDetail['app'];
  /** Where it is among the requests in flight. */
  readonly #place: ListPlace<Session>;
  #request: CompletionRequest | null = null;
  #route: GenerationDetail['route'] = undefined;
  #candidate: Candidate | null = null;
  readonly #attempts: AttemptRecord[] = [];
  #isWaiting = false;
  /** How long its reservation waited in the queue; null when it did not. */
  #admissionWaitMs: number | null = null;
  /** Monotonic instant of the first content of a response. */
  #firstContentMs: number | null = null;
  #ended = false;

  /** Throws `Unbillable` when requests cannot be journaled. */
  constructor(parts: SessionParts, { account, key, exchange, endpoint }: Admitted) {
    this.#parts = parts;
    this.#account = account;
    this.#key = key;
    this.#endpoint = endpoint;
    this.exchange = exchange;
    this.createdAtMs = parts.clock.now();
    const { accountId, id: keyId } = key.row;
    this.uuid =
      generationOfRequest(exchange.requestId) ?? withLead(newGenerationUuid(this.createdAtMs), accountId);
    this.id = generationIdOf(this.uuid);
    const detail = requestDetail(exchange, endpoint);
    this.#openDetail = JSON.stringify(detail);
    this.#app = detail.app;
    const record = {
      uuid: this.uuid,
      accountId,
      keyId,
      createdAtMs: this.createdAtMs,
      detail: this.#openDetail,
      app: this.#app ?? null,
    };
    this.#opened = parts.settlements.open(record);
    this.trace = parts.tracer?.begin(exchange.traceContext) ?? null;
    this.reservation = parts.openReservation(account, key);
    this.#place = parts.openSessions.add(this);
  }

  get accountId(): number {
    return this.#key.row.accountId;
  }

  get keyId(): number {
    return this.#key.row.id;
  }

  /** Null until the body has been read. */
  get request(): CompletionRequest | null {
    return this.#request;
  }

  /** The candidate that is or was called last. */
  get candidate(): Candidate | null {
    return this.#candidate;
  }

  get attempts(): readonly AttemptRecord[] {
    return this.#attempts;
  }

  get phase(): RequestPhase {
    if (this.#isWaiting) return 'waiting';
    if (this.#firstContentMs !== null) return 'responding';
    return this.#candidate === null ? 'preparing' : 'calling';
  }

  /** Ends the request when its key may not call any more. */
  endIfRefused(nowMs: number): void {
    try {
      assertValid(this.#key, 'inference', nowMs);
    } catch (refusal) {
      if (refusal instanceof Refusal) this.exchange.leave(refusal);
      else throw refusal;
    }
  }

  /** The body has been read. */
  read(request: CompletionRequest): void {
    this.#request = request;
  }

  /** The candidates are in the order of this plan. */
  planned(request: CompletionRequest, plan: Plan): void {
    this.#route = routeOf(request, plan);
  }

  /**
   * Reserves the most that the request is expected to cost. Undefined: at once. Otherwise it waits in
   * the queue, as `Reservation.reserve` does.
   */
  reserve(amount: Krw, maxWaitMs: number): Promise<void> | undefined {
    const waiting = this.reservation.reserve(amount, { signal: this.exchange.signal, maxWaitMs });
    return waiting === undefined ? undefined : this.#wait(waiting);
  }

  async #wait(waiting: Promise<void>): Promise<void> {
    const { clock } = this.#parts;
    const startedMs = clock.monotonic();
    this.#isWaiting = true;
    try {
      await waiting;
    } finally {
      this.#isWaiting = false;
      this.#admissionWaitMs = clock.monotonic() - startedMs;
    }
  }

  calling(candidate: Candidate): void {
    this.#candidate = candidate;
  }

  tried(record: AttemptRecord): void {
    this.#attempts.push(record);
  }

  /** The response of the last attempt broke off; `message` is what its upstream said about it. */
  broke(message: string | null): void {
    const last = this.#attempts.at(-1);
    if (last !== undefined && message !== null) this.#attempts.splice(-1, 1, { ...last, message });
  }

  /** The first content of a response has arrived. */
  contentArrived(candidate: Candidate): void {
    const { clock, observer } = this.#parts;
    this.#firstContentMs = clock.monotonic();
    if (this.#request?.stream === true)
      observer.firstToken(candidate, this.#firstContentMs - this.exchange.startedMs);
  }

  /**
   * Charges and records the ending; resolves when that is durable. Rejects with `Unbillable`: then
   * nothing was charged, and the request is recorded as failed. Further calls do nothing.
   */
  async end(ending: Ending): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    this.#place.remove();
    const row = this.#rowOf(ending);
    this.#account.charge(ending.cost);
    this.#key.charge(row.day, ending.cost);
    this.reservation.end();
    this.#note(ending);
    const settlingMs = this.#elapsedMs();
    try {
      await this.#parts.settlements.settle(this.#opened, row);
    } catch (error) {
      this.#account.uncharge(ending.cost);
      this.#key.uncharge(row.day, ending.cost);
      const failed = { ...ending, status: statusOf('server'), cost: zeroKrw };
      this.#observe(failed);
      this.#trace(failed, { settlingMs, isSettled: false });
      throw error;
    }
    this.#observe(ending);
    this.#trace(ending, { settlingMs, isSettled: true });
  }

  /** What the log line of the request says of its ending. */
  #note({ candidate, usage, cost }: Ending): void {
    const fields = this.exchange.logFields;
    const called = candidate ?? this.#candidate;
    const model = called?.modelId ?? this.#request?.models[0]?.slice(0, 200);
    fields.generation_id = this.id;
    if (model !== undefined) fields.model = model;
    if (called !== null) fields.provider = called.providerTag;
    fields.prompt_tokens = usage.promptTokens;
    fields.completion_tokens = usage.completionTokens;
    fields.cost_micro = String(cost);
    fields.attempts = this.#attempts.length;
    if (this.#admissionWaitMs !== null) fields.admission_wait_ms = Math.round(this.#admissionWaitMs);
  }

  /**
   * Records a request that was refused or failed: zero cost, no ledger entry (spec:errors/4.4).
   * Never throws.
   */
  async fail(thrown: unknown): Promise<void> {
    if (this.#ended) return;
    const failure = thrown instanceof Refusal ? thrown.failure : 'server';
    const isDisconnect = thrown instanceof ClientDisconnected;
    try {
      await this.end({
        status: isDisconnect ? clientClosedRequest : statusOf(failure),
        errorType: isDisconnect ? null : errorTypeOf(failure),
        ...(thrown instanceof Refusal ? { errorMessage: thrown.message } : {}),
        candidate: null,
        totals: null,
        usage: noUsage,
        usageSource: undefined,
        cost: zeroKrw,
        cancelled: isDisconnect,
      });
    } catch (error) {
      // The journal has its opening, so the next start records it as failed.
      if (!(error instanceof Unbillable)) throw error;
    }
  }

  #observe({ candidate, status, errorType, totals, usage, cost }: Ending): void {
    this.#parts.observer.generationEnded({
      source: candidate,
      status,
      errorType,
      wasStreaming: this.#request?.stream === true && this.#firstContentMs !== null,
      durationMs: this.#elapsedMs(),
      promptTokens: usage.promptTokens,
      completionTokens: usage.completionTokens,
      cost,
      hasUnknownFinish: totals?.hasUnknownFinish === true,
    });
  }

  #trace(
    { candidate, status, errorType, cancelled, usage, cost }: Ending,
    { settlingMs, isSettled }: { readonly settlingMs: number; readonly isSettled: boolean },
  ): void {
    if (this.trace === null) return;
    const { exchange } = this;
    const endedMs = this.#elapsedMs();
    this.trace.end({
      requestId: exchange.requestId,
      generationId: this.id,
      accountId: this.accountId,
      operation: this.#endpoint,
      requestedModel: this.#request?.models[0] ?? null,
      isStream: this.#request?.stream === true,
      status,
      errorType,
      isCancelled: cancelled,
      source: candidate,
      attempts: this.#attempts,
      promptTokens: usage.promptTokens,
      completionTokens: usage.completionTokens,
      cost,
      arrivedAtMs: this.#parts.clock.now() - endedMs,
      firstContentMs: this.#firstContentMs === null ? null : this.#firstContentMs - exchange.startedMs,
      settlingMs,
      endedMs,
      isSettled,
    });
  }

  /** Milliseconds since the request arrived. */
  #elapsedMs(): number {
    return this.#parts.clock.monotonic() - this.exchange.startedMs;
  }

  #rowOf(ending: Ending): SettlementRow {
    const { clock } = this.#parts;
    const { exchange } = this;
    const settledAtMs = clock.now();
    const nowMs = clock.monotonic();
    const { candidate, totals, usage } = ending;
    const detail: MutableDetail = this.#request === null ? {} : bodyDetail(this.#request);
    if (this.#attempts.length > 0) detail.attempts = this.#attempts;
    if (this.#route !== undefined) detail.route = this.#route;
    if (this.#admissionWaitMs !== null) detail.admission_wait_ms = Math.round(this.#admissionWaitMs);
    if (ending.errorMessage !== undefined) detail.error_message = storable(ending.errorMessage);
    detail.cancelled = ending.cancelled;
    detail.upstream_id = storableOr(totals?.upstreamId ?? null);
    detail.native_finish_reason = storableOr(totals?.nativeFinishReason ?? null);
    detail.service_tier = storableOr(totals?.serviceTier ?? null);
    detail.reasoning_tokens = usage.reasoningTokens;
    detail.cache_read_tokens = usage.cacheReadTokens;
    detail.cache_write_tokens = usage.cacheWriteTokens;
    if (usage.cacheWrite1hTokens > 0) detail.cache_write_1h_tokens = usage.cacheWrite1hTokens;
    const tier = candidate == null ? undefined : billedTierOf(candidate.price, totals?.serviceTier ?? null);
    if (tier !== undefined) detail.billed_tier = tier;
    const dropped = totals?.dropped.kinds ?? [];
    if (dropped.length > 0) detail.dropped_parts = dropped.map((kind) => storable(kind));
    if (ending.usageSource !== undefined) detail.usage_source = ending.usageSource;
    detail.latency_ms =
      this.#firstContentMs === null ? null : Math.round(this.#firstContentMs - exchange.startedMs);
    detail.generation_ms = this.#firstContentMs === null ? null : Math.round(nowMs - exchange.startedMs);
    return {
      uuid: this.uuid,
      accountId: this.accountId,
      keyId: this.keyId,
      createdAtMs: this.createdAtMs,
      settledAtMs,
      day: seoulDayAt(settledAtMs),
      status: ending.status,
      errorType: ending.errorType,
      model: candidate?.modelId ?? null,
      provider: candidate?.providerName ?? null,
      finishReason: totals?.finishReason ?? null,
      promptTokens: usage.promptTokens,
      completionTokens: usage.completionTokens,
      cost: ending.cost,
      priceVersion: candidate?.priceVersion ?? null,
      detail: `${this.#openDetail.slice(0, -1)},${JSON.stringify(detail).slice(1)}`,
      app: this.#app ?? null,
    };
  }
}

/** Ends the requests of these keys that may not call any more (spec:api/6.16). */
export function endSessions(open: Iterable<Session>, keyIds: ReadonlySet<number>, nowMs: number): void {
  if (keyIds.size === 0) return;
  for (const session of [...open]) if (keyIds.has(session.keyId)) session.endIfRefused(nowMs);
}
