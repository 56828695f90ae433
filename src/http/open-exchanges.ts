import type { Socket } from 'node:net';
import { LinkedList } from '../memory/linked-list.ts';
import { afterNextReads } from '../time/after-next-reads.ts';
import { type Clock, within } from '../time/clock.ts';
import { LoopTurns } from '../time/loop-turns.ts';
import type { Exchange } from './exchange.ts';

/**
 * Idle time is counted in steps of this length at most: when the process, or the whole machine, does
 * not run for a while, only one step passes.
 */
const idleStepMs = 250;
/**
 * Requests with a body that begin in one turn of the event loop: some 2 ms. When all of some hundreds
 * began in one turn, all were in memory at once until the last had its response
 * (docs/decisions/request-turns.md).
 */
const maxBegunInTurn = 16;

/** The requests in flight, and how a stopping server waits for them. */
export class OpenExchanges {
  readonly #clock: Clock;
  readonly #open = new LinkedList<Exchange>();
  readonly #turns = new LoopTurns({ maxCost: maxBegunInTurn });
  /** How many requests have arrived and wait for their turn. */
  #waiting = 0;
  /** How many have a complete response that the client has not read in full. */
  #leaving = 0;
  readonly #abortAll = Promise.withResolvers<void>();
  #whenEmpty: (() => void)[] = [];
  #whenTaken: (() => void)[] = [];
  /** How many have started. */
  #started = 0;
  #isStopping = false;
  /** Set once all exchanges are aborted. */
  #abortReason: Error | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#open.size + this.#waiting;
  }

  /** Whether responses must announce that their connection closes after them. */
  get isStopping(): boolean {
    return this.#isStopping;
  }

  /**
   * Calls `begin` for a request that has arrived, now or in one of the next turns of the event loop;
   * it adds the exchange. Its connection may be closed by then.
   */
  enter(begin: () => void): void {
    this.#waiting += 1;
    this.#turns.take(1, () => {
      this.#waiting -= 1;
      begin();
    });
  }

  /**
   * An exchange that starts after `abort`, on a connection that was still open, is aborted as well.
   */
  add(exchange: Exchange): void {
    exchange.place = this.#open.add(exchange);
    this.#started += 1;
    if (this.#abortReason !== null) exchange.leave(this.#abortReason);
  }

  /**
   * The response is complete. The exchange stays until the client has read it, unless the server
   * stopped waiting for clients.
   */
  responded(exchange: Exchange): void {
    if (this.#abortReason !== null) this.delete(exchange);
    else if (exchange.place !== null && !exchange.isLeaving) {
      exchange.isLeaving = true;
      this.#leaving += 1;
    }
  }

  /** The response is complete, or can no longer be completed. */
  delete(exchange: Exchange): void {
    const { place } = exchange;
    if (place === null) return;
    place.remove();
    exchange.place = null;
    if (exchange.isLeaving) this.#leaving -= 1;
    exchange.isLeaving = false;
    if (this.#leaving === 0 && this.#whenTaken.length > 0)
      for (const resolve of this.#whenTaken.splice(0)) resolve();
    if (this.size > 0) return;
    for (const resolve of this.#whenEmpty.splice(0)) resolve();
  }

  /** Aborts all exchanges, and stops waiting for idle connections. */
  abort(reason: Error): void {
    this.#abortReason = reason;
    this.#abortAll.resolve();
    for (const exchange of this.#open) {
      if (exchange.isLeaving) this.delete(exchange);
      else exchange.leave(reason);
    }
  }

  /** The exchanges of this connection. */
  on(socket: Socket): readonly Exchange[] {
    return [...this.#open].filter((exchange) => exchange.socket === socket);
  }

  /** From now on responses announce that their connection closes after them. */
  beginStop(): void {
    this.#isStopping = true;
  }

  /**
   * Resolves when no exchange is open, and none has started for `idleMs` or `noneLeft` reports that
   * no connection is left. A request that has arrived by then is read first.
   */
  async drain(idleMs: number, noneLeft: Promise<void>): Promise<void> {
    let isOver = false;
    const over = Promise.race([noneLeft, this.#abortAll.promise]).then(() => {
      isOver = true;
    });
    for (let idleForMs = 0; ; ) {
      await this.#empty();
      if (isOver || this.#abortReason !== null || idleForMs >= idleMs) return;
      const startedBefore = this.#started;
      const stepMs = Math.min(idleMs - idleForMs, idleStepMs);
      await within(this.#clock, stepMs, over, undefined);
      await afterNextReads();
      idleForMs = this.#started === startedBefore ? idleForMs + stepMs : 0;
    }
  }

  /** Resolves when clients have read all responses. */
  taken(): Promise<void> {
    return this.#leaving === 0 ? Promise.resolve() : new Promise((resolve) => this.#whenTaken.push(resolve));
  }

  #empty(): Promise<void> {
    return this.size === 0 ? Promise.resolve() : new Promise((resolve) => this.#whenEmpty.push(resolve));
  }
}
