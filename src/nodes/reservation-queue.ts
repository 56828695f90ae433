import { refuse } from '../errors/catalogue.ts';
import { messages } from '../errors/messages.ts';
import type { Clock, Timer } from '../time/clock.ts';
import type { CreditLeases } from './credit-leases.ts';
import type { DatabaseWaits } from './database-waits.ts';
import type { ReservationRequest, SpendSubject } from './reservation-request.ts';

/**
 * A queue is checked again when a request ends and when a change is announced. What is not
 * announced (a period that ends, a node that is lost, a lease that was released) is found by
 * polling: at first often, then three times a second.
 */
const firstLookMs = 5;
const maxLookMs = 320;

/** A request to be admitted. */
export interface ReservationOrder extends ReservationRequest {
  readonly accountId: number;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
  /** How long it may wait in the queue; beyond it `408 timeout`. */
  readonly maxWaitMs: number;
}

/** What `ReservationQueues` needs. */
export interface ReservationQueuesParts {
  readonly clock: Clock;
  readonly leases: Pick<CreditLeases, 'reserveNow' | 'reserve' | 'requestRelease'>;
  readonly waits: Pick<DatabaseWaits, 'until'>;
}

/**
 * Requests that wait until enough of those in flight have settled (spec:money/6.6): first come,
 * first served per account and per key.
 * A request that waits for its key's limit does not delay the account's other keys; one that waits
 * for the account delays all requests behind it. While no request waits an account has no queue,
 * and a request costs one lookup in a map.
 */
export class ReservationQueues {
  readonly #parts: ReservationQueuesParts;
  readonly #queues = new Map<number, ReservationQueue>();

  constructor(parts: ReservationQueuesParts) {
    this.#parts = parts;
  }

  /** How many requests wait. */
  get waiting(): number {
    let waiting = 0;
    for (const { waiters } of this.#queues.values()) waiting += waiters.size;
    return waiting;
  }

  /**
   * Admits a request whose refusal is null. Undefined: it is admitted. Otherwise resolves once it
   * is admitted, and rejects with its refusal, the reason of its signal, `408 timeout`, or what the
   * database throws.
   */
  enter(request: ReservationOrder): Promise<void> | undefined {
    const queue = this.#queues.get(request.accountId);
    // A request without a cost cannot overspend.
    if (request.amount === 0n) request.count();
    else if (queue !== undefined || this.#parts.leases.reserveNow(request)?.kind !== 'admitted')
      return this.#wait(request, queue ?? this.#begin(request.accountId));
    return undefined;
  }

  /**
   * A request of the account has ended, or something about it has changed: its queue is checked.
   */
  wake(accountId: number): void {
    this.#queues.get(accountId)?.wake(false);
  }

  /**
   * Something changed: credit, a limit, the status of a key. Every queue is checked from the first
   * request to the last.
   */
  wakeAll(): void {
    for (const queue of this.#queues.values()) queue.wake(true);
  }

  #wait(request: ReservationOrder, queue: ReservationQueue): Promise<void> {
    const { clock } = this.#parts;
    const { signal, maxWaitMs } = request;
    const end = Promise.withResolvers<void>();
    const timer = clock.after(maxWaitMs, () => waiter.leave(timeoutError(maxWaitMs)));
    const onAbort = (): void => waiter.leave(signal.reason);
    const waiter = new Waiter(request, (error) => {
      queue.waiters.delete(waiter);
      queue.departures += 1;
      timer.cancel();
      signal.removeEventListener('abort', onAbort);
      if (error === null) end.resolve();
      else {
        end.reject(error);
        queue.wake(false);
      }
    });
    queue.waiters.add(waiter);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    if (!queue.isBlocked) queue.wake(false);
    return end.promise;
  }

  #begin(accountId: number): ReservationQueue {
    const queue = new ReservationQueue(this.#parts.clock);
    this.#queues.set(accountId, queue);
    // The first request is queued before the queue is checked.
    queueMicrotask(() => void this.#serve(queue, accountId));
    return queue;
  }

  /** Checks a queue until it is empty. Never rejects. */
  async #serve(queue: ReservationQueue, accountId: number): Promise<void> {
    let lookMs = firstLookMs;
    /** Not before this is a release requested again; one that was not requested yet is at once. */
    const nextRequestMs = new Map<string, number>();
    for (let isThorough = true; queue.waiters.size > 0; ) {
      const before = queue.departures;
      queue.listen();
      const wanted = await this.#pass(queue, isThorough);
      if (queue.waiters.size === 0) break;
      lookMs = queue.departures > before ? firstLookMs : Math.min(2 * lookMs, maxLookMs);
      const nowMs = this.#parts.clock.monotonic();
      for (const subject of wanted) {
        if (nowMs < (nextRequestMs.get(nameOf(subject)) ?? nowMs)) continue;
        nextRequestMs.set(nameOf(subject), nowMs + lookMs);
        void this.#parts.leases.requestRelease(subject).catch(() => {});
      }
      isThorough = await queue.sleep(lookMs);
    }
    this.#queues.delete(accountId);
  }

  /**
   * Admits and refuses from the first to the last in the queue. Returns the subjects that a request
   * waits for and other nodes have leases of. Behind a request that waits for the account none is
   * admitted, and only a thorough pass checks which are refused.
   */
  async #pass(queue: ReservationQueue, isThorough: boolean): Promise<readonly SpendSubject[]> {
    const blocked = new Map<string, SpendSubject>();
    const wanted: SpendSubject[] = [];
    queue.isBlocked = false;
    for (const waiter of queue.waiters) {
      if (queue.isBlocked && !isThorough) break;
      try {
        const refusal = waiter.refusal();
        if (refusal !== null) waiter.leave(refusal);
        else if (
          !queue.isBlocked &&
          !waiter.request.subjects.some((subject) => blocked.has(nameOf(subject)))
        ) {
          const by = await this.#admit(waiter);
          if (by === null) continue;
          blocked.set(nameOf(by.subject), by.subject);
          if (by.isShared) wanted.push(by.subject);
          queue.isBlocked = by.subject.kind === 'account';
        }
      } catch (error) {
        // It fails for this request alone; the others stay queued.
        waiter.leave(error);
      }
    }
    return wanted;
  }

  /** Admits or refuses one request; null unless it has to wait. */
  async #admit(
    waiter: Waiter,
  ): Promise<{ readonly subject: SpendSubject; readonly isShared: boolean } | null> {
    const { leases, waits } = this.#parts;
    try {
      const result =
        leases.reserveNow(waiter) ?? (await waits.until(waiter.request.accountId, leases.reserve(waiter)));
      if (result.kind === 'blocked') return { subject: result.by, isShared: result.isShared };
      waiter.leave(result.kind === 'refused' ? result.error : null);
    } catch (error) {
      waiter.leave(error);
    }
    return null;
  }
}

/** One request in a queue. Once it has left it is never admitted. */
class Waiter implements ReservationRequest {
  readonly request: ReservationOrder;
  readonly #onEnd: (error: unknown) => void;
  #hasLeft = false;

  constructor(request: ReservationOrder, onEnd: (error: unknown) => void) {
    this.request = request;
    this.#onEnd = onEnd;
  }

  get subjects(): readonly SpendSubject[] {
    return this.request.subjects;
  }

  get amount(): bigint {
    return this.request.amount;
  }

  get isKnown(): boolean {
    return this.request.isKnown;
  }

  refusal(): Error | null {
    return this.#hasLeft ? new Error('the request has left the queue') : this.request.refusal();
  }

  count(): void {
    this.request.count();
  }

  uncount(): void {
    this.request.uncount();
  }

  /** Null: it was admitted. The first call counts. */
  leave(error: unknown): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.#onEnd(error);
  }
}

/** The waiting requests of one account, in the order of their arrival. */
class ReservationQueue {
  readonly waiters = new Set<Waiter>();
  /** How many have left it, admitted or not. */
  departures = 0;
  /** The first in the queue waits for the account: none behind it is admitted. */
  isBlocked = false;
  readonly #clock: Clock;
  #bell = Promise.withResolvers<void>();
  #isThorough = false;
  #timer: Timer | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** From now on a call wakes the next sleep. */
  listen(): void {
    this.#bell = Promise.withResolvers<void>();
    this.#isThorough = false;
  }

  wake(isThorough: boolean): void {
    this.#isThorough ||= isThorough;
    this.#bell.resolve();
  }

  /**
   * Sleeps until it is woken, for `ms` at most; returns whether every request in the queue must be
   * checked.
   */
  async sleep(ms: number): Promise<boolean> {
    this.#timer = this.#clock.after(ms, () => this.wake(true));
    await this.#bell.promise;
    this.#timer.cancel();
    return this.#isThorough;
  }
}

function timeoutError(maxWaitMs: number): Error {
  return refuse('timeout', messages.earlierRequestsTooSlow(), { timeout_sec: maxWaitMs / 1000 });
}

function nameOf({ kind, id }: SpendSubject): string {
  return `${kind}/${id}`;
}
