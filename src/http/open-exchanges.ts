import type { Socket } from 'node:net';
import { type Clock, within } from '../time/clock.ts';
import type { Exchange } from './exchange.ts';

/** The requests in flight, and how a server that stops waits for them. */
export class OpenExchanges {
  readonly #clock: Clock;
  readonly #open = new Set<Exchange>();
  /** Those that are answered, but whose clients have not taken all of it. */
  readonly #leaving = new Set<Exchange>();
  readonly #abortAll = Promise.withResolvers<void>();
  #whenEmpty: (() => void)[] = [];
  #whenTaken: (() => void)[] = [];
  #lastEndMs = 0;
  #isStopping = false;
  /** Why everything is given up, once it is. */
  #abortReason: Error | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Whether answers must say that their connection closes behind them. */
  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** What comes behind `abort`, on a connection that was still open, is given up as well. */
  add(exchange: Exchange): void {
    this.#open.add(exchange);
    if (this.#abortReason !== null) exchange.leave(this.#abortReason);
  }

  /** It is answered, and stays until its client has taken that, unless nobody waits for clients any more. */
  answered(exchange: Exchange): void {
    if (this.#abortReason !== null) this.delete(exchange);
    else if (this.#open.has(exchange)) this.#leaving.add(exchange);
  }

  /** Its response is complete, or cannot be any more. */
  delete(exchange: Exchange): void {
    this.#leaving.delete(exchange);
    if (this.#leaving.size === 0) for (const resolve of this.#whenTaken.splice(0)) resolve();
    if (!this.#open.delete(exchange)) return;
    this.#lastEndMs = this.#clock.monotonic();
    if (this.#open.size > 0) return;
    for (const resolve of this.#whenEmpty.splice(0)) resolve();
  }

  /** Gives all of them up, and waits for no idle connection any more. */
  abort(reason: Error): void {
    this.#abortReason = reason;
    this.#abortAll.resolve();
    for (const exchange of this.#leaving) this.delete(exchange);
    for (const exchange of this.#open) exchange.leave(reason);
  }

  /** Those whose requests came on this connection. */
  on(socket: Socket): readonly Exchange[] {
    return [...this.#open].filter((exchange) => exchange.socket === socket);
  }

  /** Resolves when there is none, and none has begun for `idleMs` or `noneLeft` says that no connection is left. */
  async drain(idleMs: number, noneLeft: Promise<void>): Promise<void> {
    this.#isStopping = true;
    this.#lastEndMs = this.#clock.monotonic();
    let isOver = false;
    const over = Promise.race([noneLeft, this.#abortAll.promise]).then(() => {
      isOver = true;
    });
    for (;;) {
      await this.#empty();
      const restMs = this.#lastEndMs + idleMs - this.#clock.monotonic();
      if (this.size === 0 && (isOver || this.#abortReason !== null || restMs <= 0)) return;
      if (this.size === 0) await within(this.#clock, restMs, over, undefined);
    }
  }

  /** Resolves when no answer waits for its client to take it. */
  taken(): Promise<void> {
    return this.#leaving.size === 0
      ? Promise.resolve()
      : new Promise((resolve) => this.#whenTaken.push(resolve));
  }

  #empty(): Promise<void> {
    return this.#open.size === 0
      ? Promise.resolve()
      : new Promise((resolve) => this.#whenEmpty.push(resolve));
  }
}
