import { refuse } from '../errors/catalogue.ts';
import { messages } from '../errors/messages.ts';
import type { Clock, Timer } from '../time/clock.ts';

/** How fast the bodies of one client are read. */
export interface BodyRateLimits {
  /** Infinity: as fast as they arrive. */
  readonly bytesPerSecond: number;
  /** Read at once for a client that sent nothing for a while. */
  readonly burstBytes: number;
}

/** A body that costs no more than this is read as it arrives, and is not counted. */
export const uncountedBytes = 65_536;
/** A body reads this many bytes in one turn: about a millisecond of the event loop. */
const turnBytes = 65_536;
/** A body that would wait longer for its first turn is refused. */
const maxWaitMs = 5_000;
/** Full buckets are deleted this often. */
const sweepEveryMs = 10_000;

interface Bucket {
  /** Negative: tokens spent in advance. */
  tokens: number;
  atMs: number;
  /** The number of the last turn that was granted to this client. */
  lastTurn: number;
}

/**
 * Grants turns to the bodies of all clients. Each turn of the event loop grants one, so that short
 * requests run in between. Each client (an address, a key) gets as many as its rate allows. Clients
 * alternate; the oldest body of a client goes first, so that few bodies are in memory at once.
 */
export class BodyRate {
  readonly #limits: () => BodyRateLimits;
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();
  /** Oldest first. */
  readonly #waiting: Waiter[] = [];
  /** How bodies report to this rate. */
  readonly #queue: BodyQueue = {
    enter: (waiter) => this.#enter(waiter),
    leave: (waiter) => this.#leave(waiter),
    refund: (clients, bytes) => this.#charge(clients, -bytes),
  };
  #openedCount = 0;
  #turnCount = 0;
  #timer: Timer | null = null;
  #isScheduled = false;
  #sweptMs: number;

  /** `limits` is called each time, because the limits may change. */
  constructor(limits: () => BodyRateLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#sweptMs = clock.monotonic();
  }

  /** Bodies that wait for a turn. */
  get waitingCount(): number {
    return this.#waiting.length;
  }

  /** Opens a body that counts for these clients. */
  open(clients: readonly string[]): BodyTurns {
    this.#openedCount += 1;
    return new BodyTurns(clients, this.#openedCount, this.#queue);
  }

  #enter(waiter: Waiter): void {
    const waitSec = waiter.isFirst ? this.#backlogMs(waiter) / 1_000 : 0;
    if (waitSec * 1_000 > maxWaitMs) {
      waiter.refuse(tooMuch(waitSec));
      return;
    }
    const at = this.#waiting.findIndex(({ order }) => order > waiter.order);
    this.#waiting.splice(at === -1 ? this.#waiting.length : at, 0, waiter);
    this.#schedule();
  }

  #leave(waiter: Waiter): void {
    const at = this.#waiting.indexOf(waiter);
    if (at !== -1) this.#waiting.splice(at, 1);
  }

  /**
   * How long the bodies queued before this one take, at the rate of the client with the most left
   * to send.
   */
  #backlogMs({ clients }: Waiter): number {
    let maxWaitMs = 0;
    for (const client of clients) {
      let bytes = 0;
      for (const other of this.#waiting) if (other.clients.includes(client)) bytes += other.expectedBytes;
      maxWaitMs = Math.max(maxWaitMs, this.#msUntil(client, bytes));
    }
    return maxWaitMs;
  }

  /** Milliseconds until the client's bucket has this many tokens. */
  #msUntil(client: string, tokens: number): number {
    const missing = tokens - this.#bucketOf(client).tokens;
    return missing <= 0 ? 0 : (missing / this.#limits().bytesPerSecond) * 1_000;
  }

  #schedule(): void {
    this.#timer?.cancel();
    this.#timer = null;
    if (this.#isScheduled || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#grantNext();
    });
  }

  #grantNext(): void {
    this.#sweep();
    let next: Waiter | null = null;
    let nextTurn = Number.POSITIVE_INFINITY;
    let soonestMs = Number.POSITIVE_INFINITY;
    for (const waiter of this.#waiting) {
      const ms = Math.max(0, ...waiter.clients.map((client) => this.#msUntil(client, 0)));
      soonestMs = Math.min(soonestMs, ms);
      const lastTurn = Math.max(0, ...waiter.clients.map((client) => this.#bucketOf(client).lastTurn));
      if (ms > 0 || lastTurn >= nextTurn) continue;
      next = waiter;
      nextTurn = lastTurn;
    }
    if (next === null) {
      if (this.#waiting.length > 0)
        this.#timer = this.#clock.after(Math.max(1, soonestMs), () => this.#schedule());
      return;
    }
    this.#leave(next);
    this.#turnCount += 1;
    this.#charge(next.clients, next.bytes);
    for (const client of next.clients) this.#bucketOf(client).lastTurn = this.#turnCount;
    next.grant();
    this.#schedule();
  }

  #charge(clients: readonly string[], bytes: number): void {
    for (const client of clients) this.#bucketOf(client).tokens -= bytes;
  }

  #bucketOf(client: string): Bucket {
    const nowMs = this.#clock.monotonic();
    const { bytesPerSecond, burstBytes } = this.#limits();
    const bucket = this.#buckets.get(client) ?? { tokens: burstBytes, atMs: nowMs, lastTurn: 0 };
    const earned = nowMs === bucket.atMs ? 0 : ((nowMs - bucket.atMs) / 1_000) * bytesPerSecond;
    bucket.tokens = Math.min(burstBytes, bucket.tokens + earned);
    bucket.atMs = nowMs;
    this.#buckets.set(client, bucket);
    return bucket;
  }

  #sweep(): void {
    if (this.#clock.monotonic() - this.#sweptMs < sweepEveryMs) return;
    this.#sweptMs = this.#clock.monotonic();
    for (const client of [...this.#buckets.keys()])
      if (this.#bucketOf(client).tokens >= this.#limits().burstBytes) this.#buckets.delete(client);
  }
}

function tooMuch(waitSec: number): Error {
  return refuse('rate_limit_exceeded', messages.bodiesTooFast(), { retry_after_sec: Math.ceil(waitSec) });
}

/** A body that waits for a turn. */
interface Waiter {
  readonly clients: readonly string[];
  readonly order: number;
  /** Whether this is the first turn of its body. */
  readonly isFirst: boolean;
  /** The cost of the turn. */
  readonly bytes: number;
  /** Bytes that the body still has to send. */
  readonly expectedBytes: number;
  readonly grant: () => void;
  readonly refuse: (refusal: Error) => void;
}

interface BodyQueue {
  readonly enter: (waiter: Waiter) => void;
  readonly leave: (waiter: Waiter) => void;
  readonly refund: (clients: readonly string[], bytes: number) => void;
}

/** The turns of one body. */
export class BodyTurns {
  readonly #clients: readonly string[];
  readonly #order: number;
  readonly #queue: BodyQueue;
  /** Bytes that it may still read. */
  #left = uncountedBytes;
  #isFirst = true;
  #waiter: Waiter | null = null;

  constructor(clients: readonly string[], order: number, queue: BodyQueue) {
    this.#clients = clients;
    this.#order = order;
    this.#queue = queue;
  }

  /** Counts bytes that arrived; false: the body must wait before it reads more. */
  spend(bytes: number): boolean {
    this.#left -= bytes;
    return this.#left > 0;
  }

  /**
   * Resolves when the body may continue; `expectedBytes` is what it still has to send. Rejects with
   * `429 rate_limit_exceeded` when too many bodies of the client wait. Never settles after `end`.
   */
  wait(expectedBytes: number): Promise<void> {
    return new Promise((grant, refuse) => {
      const bytes = Math.max(0, -this.#left) + Math.min(turnBytes, Math.max(1, expectedBytes));
      this.#waiter = {
        clients: this.#clients,
        order: this.#order,
        isFirst: this.#isFirst,
        bytes,
        expectedBytes,
        grant: () => {
          this.#waiter = null;
          this.#isFirst = false;
          this.#left += bytes;
          grant();
        },
        refuse: (refusal) => {
          this.#waiter = null;
          refuse(refusal);
        },
      };
      this.#queue.enter(this.#waiter);
    });
  }

  /** Ends the body: returns the tokens it did not use, charges what it read beyond them. */
  end(): void {
    if (this.#waiter !== null) this.#queue.leave(this.#waiter);
    this.#waiter = null;
    if (!this.#isFirst || this.#left < 0) this.#queue.refund(this.#clients, this.#left);
    this.#left = 0;
  }
}
