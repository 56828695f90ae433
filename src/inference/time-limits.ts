import { type Refusal, refuse } from '../errors/catalogue.ts';
import { type Message, messages } from '../errors/messages.ts';
import type { Clock, Timer } from '../time/clock.ts';
import type { Cancellation } from '../upstreams/call.ts';

/** A time limit that ended a call. */
export interface ExpiredLimit {
  /**
   * To the first byte of one response; of the whole request to the first byte of any; between two
   * pieces; of the whole request to the last byte.
   */
  readonly kind: 'first_byte' | 'budget' | 'idle' | 'total';
  readonly limitMs: number;
}

/**
 * The upstream failed after the head of its response: it closed the connection, stalled, or sent an
 * error or malformed data.
 */
export class UpstreamStreamError extends Error {
  override readonly name = 'UpstreamStreamError';
  /** The status in its error; null when there was none. */
  readonly status: number | null;
  /** The limit that ended the call; null when none did. */
  readonly expired: ExpiredLimit | null;

  constructor(
    message: string,
    how: { readonly status?: number | null; readonly expired?: ExpiredLimit } = {},
  ) {
    super(message);
    this.status = how.status ?? null;
    this.expired = how.expired ?? null;
  }
}

/** The error of an upstream that sent nothing for this long. */
export function idleTimeoutError(limitMs: number): UpstreamStreamError {
  return new UpstreamStreamError('the upstream sent nothing for too long', {
    expired: { kind: 'idle', limitMs },
  });
}

/** What is left of a limit of the whole request when a call begins. */
export interface RequestLimit {
  readonly limitMs: number;
  readonly leftMs: number;
}

/** The time limits of one call. */
export interface CallLimits {
  /** To the first byte of the response, in milliseconds. */
  readonly firstByteMs: number;
  /** To the first byte of a response of any candidate, and of a stream to its first content. */
  readonly budget: RequestLimit;
  /** To the last byte; null: no such limit. */
  readonly total: RequestLimit | null;
}

/** Cancels one call: when the client leaves, a time limit expires, or the engine is lost. */
export class CallScope implements Cancellation {
  cancelReason: Error | null = null;
  onCancel: ((reason: Error) => void) | null = null;
  /** The limit that ended the call; null when none did. */
  expired: ExpiredLimit | null = null;
  readonly #client: AbortSignal;
  readonly #engine: AbortSignal | null;
  readonly #onAbort: () => void;
  readonly #firstByte: Timer;
  readonly #budget: Timer;
  readonly #total: Timer | null;

  /**
   * `client` aborts when the client leaves, `engine` when the engine is lost; null for a provider.
   */
  constructor(clock: Clock, limits: CallLimits, client: AbortSignal, engine: AbortSignal | null) {
    this.#client = client;
    this.#engine = engine;
    const onAbort = (): void =>
      this.#cancel(client.aborted ? errorOf(client.reason) : new UpstreamStreamError('the engine was lost'));
    client.addEventListener('abort', onAbort, { once: true });
    engine?.addEventListener('abort', onAbort, { once: true });
    this.#onAbort = onAbort;
    const { firstByteMs, budget, total } = limits;
    const limit = (kind: ExpiredLimit['kind'], { leftMs, limitMs }: RequestLimit): Timer =>
      clock.after(leftMs, () => this.#expire({ kind, limitMs }));
    this.#firstByte =
      firstByteMs < budget.leftMs
        ? limit('first_byte', { leftMs: firstByteMs, limitMs: firstByteMs })
        : noTimer;
    this.#budget = limit('budget', budget);
    this.#total = total === null ? null : limit('total', total);
    // An abort that came before sends no event: a worker may receive a lease and its loss in one
    // turn.
    if (client.aborted || engine?.aborted === true) onAbort();
  }

  /**
   * The first byte of a response has arrived. A stream still has to send content within the budget:
   * an empty one must not wait for ever.
   */
  responded(how: { readonly isStream: boolean }): void {
    this.#firstByte.cancel();
    if (!how.isStream) this.#budget.cancel();
  }

  /** Content has arrived: from now on only silence and the total time are limited. */
  contentArrived(): void {
    this.#firstByte.cancel();
    this.#budget.cancel();
  }

  end(): void {
    this.contentArrived();
    this.#total?.cancel();
    this.#client.removeEventListener('abort', this.#onAbort);
    this.#engine?.removeEventListener('abort', this.#onAbort);
  }

  #expire(limit: ExpiredLimit): void {
    this.expired ??= limit;
    this.#cancel(new UpstreamStreamError('no response in time', { expired: limit }));
  }

  /** Later reasons are ignored. */
  #cancel(reason: Error): void {
    if (this.cancelReason !== null) return;
    this.cancelReason = reason;
    this.onCancel?.(reason);
  }
}

const noTimer: Timer = { cancel: () => {} };

function errorOf(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('aborted');
}

/**
 * A busy process runs its timers before it reads its sockets: data that arrived in time may not
 * have been read. So silence is checked again this much later, after the sockets were read.
 */
const graceMs = 20;

/**
 * Calls `onSilence` when nothing happened for `limitMs`. `pat` costs one assignment: the timer
 * compares the times when it fires, and is set again for the rest.
 */
export class Watchdog {
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #onSilence: () => void;
  #lastMs: number;
  #timer: Timer;
  #isSilent = false;

  constructor(clock: Clock, limitMs: number, onSilence: () => void) {
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.#onSilence = onSilence;
    this.#lastMs = clock.monotonic();
    this.#timer = clock.after(limitMs, () => this.#check());
  }

  /** Records that something happened. */
  pat(): void {
    this.#lastMs = this.#clock.monotonic();
  }

  stop(): void {
    this.#timer.cancel();
  }

  #check(): void {
    const leftMs = this.#lastMs + this.#limitMs - this.#clock.monotonic();
    const wasSilent = this.#isSilent;
    this.#isSilent = leftMs <= 0 && !wasSilent;
    if (leftMs > 0) this.#checkAfter(leftMs);
    else if (!wasSilent) this.#checkAfter(graceMs);
    else {
      this.pat();
      this.#checkAfter(this.#limitMs);
      this.#onSilence();
    }
  }

  #checkAfter(delayMs: number): void {
    this.#timer = this.#clock.after(delayMs, () => this.#check());
  }
}

/** The refusal of a request that a limit ended (spec:errors/3.7): `timeout_sec` is that limit. */
export function timeoutOf({ kind, limitMs }: ExpiredLimit): Refusal {
  return refuse('timeout', timeoutMessages[kind](), { timeout_sec: limitMs / 1000 });
}

const timeoutMessages: Readonly<Record<ExpiredLimit['kind'], () => Message>> = {
  first_byte: messages.upstreamTooSlow,
  budget: messages.upstreamTooSlow,
  idle: messages.upstreamIdle,
  total: messages.responseTooSlow,
};
