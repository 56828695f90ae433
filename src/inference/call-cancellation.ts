import type { Clock, Timer } from '../time/clock.ts';
import type { Cancellation } from '../upstreams/call.ts';
import { type ExpiredLimit, UpstreamStreamError } from './stream-error.ts';

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
