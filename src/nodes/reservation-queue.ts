import { refuse } from '../errors/catalogue.ts';
import { messages } from '../errors/messages.ts';
import type { Clock, Timer } from '../time/clock.ts';
import type { CreditLeases, QueuedReservation, ReservationRequest, SpendSubject } from './credit-leases.ts';

/**
 * A line is looked at again when a request ends and when a change is heard of. What nobody reports (a period that ends, a node that
 * dies, a share that was given back) is found by looking: at first often, then three times a second.
 */
const firstLookMs = 5;
const maxLookMs = 320;

/** A request that asks to be admitted. */
export interface ReservationOrder extends ReservationRequest {
  readonly accountId: number;
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal;
  /** How long it may wait in line; beyond it `408 timeout`. */
  readonly maxWaitMs: number;
}

/** What lines are made of. */
export interface ReservationQueuesParts {
  readonly clock: Clock;
  readonly leases: Pick<CreditLeases, 'reserveNow' | 'reserve' | 'requestRelease' | 'departed'>;
}

/**
 * Requests that wait until enough of those in flight have settled (spec:money/6.6): first come, first served per account and per
 * key, here and beside the lines of other nodes (`CreditLeases`). A request that waits for its key's limit lets the account's other keys
 * pass; one that waits for the account lets nobody pass.
 * While nobody waits an account has no line, and a request pays one look at a map for that.
 */
export class ReservationQueues {
  readonly #parts: ReservationQueuesParts;
  readonly #lines = new Map<number, ReservationQueue>();

  constructor(parts: ReservationQueuesParts) {
    this.#parts = parts;
  }

  /** How many requests wait. */
  get waiting(): number {
    let waiting = 0;
    for (const { waiters } of this.#lines.values()) waiting += waiters.size;
    return waiting;
  }

  /**
   * Admits a request whose refusal is null. Undefined: it is placed. Otherwise resolves once it is placed, and rejects with its refusal,
   * the reason of its signal, `408 timeout`, or what the database throws.
   */
  enter(request: ReservationOrder): Promise<void> | undefined {
    const line = this.#lines.get(request.accountId);
    // What costs nothing overspends nothing.
    if (request.amount === 0n) request.reserve();
    else if (line !== undefined || this.#parts.leases.reserveNow(request)?.kind !== 'placed')
      return this.#wait(request, line ?? this.#begin(request.accountId));
    return undefined;
  }

  /** A request of the account has ended, or something about it has changed: its line is looked at. */
  wake(accountId: number): void {
    this.#lines.get(accountId)?.wake(false);
  }

  /** Something changed: credit, a limit, a key's standing. Every line is looked at, from the first to the last in it. */
  wakeAll(): void {
    for (const line of this.#lines.values()) line.wake(true);
  }

  #wait(request: ReservationOrder, line: ReservationQueue): Promise<void> {
    const { clock } = this.#parts;
    const { signal, maxWaitMs } = request;
    const end = Promise.withResolvers<void>();
    const timer = clock.after(maxWaitMs, () => waiter.leave(tooLate(maxWaitMs)));
    const onAbort = (): void => waiter.leave(signal.reason);
    const waiter = new Waiter(request, line, clock.monotonic(), (error) => {
      line.waiters.delete(waiter);
      line.departures += 1;
      void this.#parts.leases.departed(waiter);
      timer.cancel();
      signal.removeEventListener('abort', onAbort);
      if (error === null) end.resolve();
      else {
        end.reject(error);
        line.wake(false);
      }
    });
    line.waiters.add(waiter);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    if (!line.isBlocked) line.wake(false);
    return end.promise;
  }

  #begin(accountId: number): ReservationQueue {
    const line = new ReservationQueue(this.#parts.clock);
    this.#lines.set(accountId, line);
    // The first one gets in line before the line is looked at.
    queueMicrotask(() => void this.#serve(line, accountId));
    return line;
  }

  /** Looks at a line until nobody is in it. Never rejects. */
  async #serve(line: ReservationQueue, accountId: number): Promise<void> {
    let lookMs = firstLookMs;
    let pleaMs = this.#parts.clock.monotonic();
    for (let isThorough = true; line.waiters.size > 0; ) {
      const before = line.departures;
      line.listen();
      const wanted = await this.#pass(line, isThorough);
      if (line.waiters.size === 0) break;
      lookMs = line.departures > before ? firstLookMs : Math.min(2 * lookMs, maxLookMs);
      if (wanted.length > 0 && this.#parts.clock.monotonic() >= pleaMs) {
        pleaMs = this.#parts.clock.monotonic() + lookMs;
        for (const subject of wanted) void this.#parts.leases.requestRelease(subject).catch(() => {});
      }
      isThorough = await line.sleep(lookMs);
    }
    this.#lines.delete(accountId);
  }

  /**
   * Admits and refuses from the first to the last in line. Returns what other nodes have a share of and someone waits for. Behind one
   * that waits for the account nobody is admitted, and only a thorough pass looks who is refused.
   */
  async #pass(line: ReservationQueue, isThorough: boolean): Promise<readonly SpendSubject[]> {
    const blocked = new Map<string, SpendSubject>();
    const wanted: SpendSubject[] = [];
    line.isBlocked = false;
    for (const waiter of line.waiters) {
      if (line.isBlocked && !isThorough) break;
      try {
        const refusal = waiter.refusal();
        if (refusal !== null) waiter.leave(refusal);
        else if (
          !line.isBlocked &&
          !waiter.request.subjects.some((subject) => blocked.has(nameOf(subject)))
        ) {
          const by = await this.#admit(waiter);
          waiter.waitsFor = by?.subject ?? null;
          if (by === null) continue;
          blocked.set(nameOf(by.subject), by.subject);
          if (by.isShared) wanted.push(by.subject);
          line.isBlocked = by.subject.kind === 'account';
        }
      } catch (error) {
        // It fails for this request alone; the others stay in line.
        waiter.leave(error);
      }
    }
    return wanted;
  }

  /** Admits or refuses one request; null unless it has to wait. */
  async #admit(
    waiter: Waiter,
  ): Promise<{ readonly subject: SpendSubject; readonly isShared: boolean } | null> {
    const { leases } = this.#parts;
    try {
      const covered = leases.reserveNow(waiter) ?? (await leases.reserve(waiter));
      if (covered.kind === 'blocked') return { subject: covered.by, isShared: covered.isShared };
      waiter.leave(covered.kind === 'refused' ? covered.error : null);
    } catch (error) {
      waiter.leave(error);
    }
    return null;
  }
}

/** One request in line. Once it has left it is never placed. */
class Waiter implements QueuedReservation {
  readonly request: ReservationOrder;
  readonly arrivedMs: number;
  waitsFor: SpendSubject | null = null;
  readonly #line: ReservationQueue;
  readonly #number: number;
  readonly #onEnd: (error: unknown) => void;
  #hasLeft = false;

  constructor(
    request: ReservationOrder,
    line: ReservationQueue,
    arrivedMs: number,
    onEnd: (error: unknown) => void,
  ) {
    this.request = request;
    this.arrivedMs = arrivedMs;
    this.#line = line;
    line.arrivals += 1;
    this.#number = line.arrivals;
    this.#onEnd = onEnd;
  }

  get hasLeft(): boolean {
    return this.#hasLeft;
  }

  next(subject: SpendSubject): Waiter | null {
    const name = nameOf(subject);
    const awaited = new Set<string>();
    for (const waiter of this.#line.waiters) {
      if (waiter.waitsFor !== null) awaited.add(nameOf(waiter.waitsFor));
      const names = waiter.subjects.map(nameOf);
      const waitsForOther = names.some((one) => one !== name && awaited.has(one));
      if (waiter.#number > this.#number && !waitsForOther && names.includes(name)) return waiter;
    }
    return null;
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
    return this.#hasLeft ? new Error('the request has left the line') : this.request.refusal();
  }

  reserve(): void {
    this.request.reserve();
  }

  /** Null: it was placed. The first end stands. */
  leave(error: unknown): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.#onEnd(error);
  }
}

/** Those of one account who wait, in the order of their arrival. */
class ReservationQueue {
  readonly waiters = new Set<Waiter>();
  arrivals = 0;
  /** How many have left it, admitted or not. */
  departures = 0;
  /** The first in line waits for the account: nobody behind it is admitted. */
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

  /** Sleeps until it is woken, for `ms` at most; returns whether everyone in line is to be looked at. */
  async sleep(ms: number): Promise<boolean> {
    this.#timer = this.#clock.after(ms, () => this.wake(true));
    await this.#bell.promise;
    this.#timer.cancel();
    return this.#isThorough;
  }
}

function tooLate(maxWaitMs: number): Error {
  return refuse('timeout', messages.earlierRequestsTooSlow(), { timeout_sec: maxWaitMs / 1000 });
}

function nameOf({ kind, id }: SpendSubject): string {
  return `${kind}/${id}`;
}
