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
  /** To the first byte of a response of any candidate, and of a stream to its first words. */
  readonly budget: RequestLimit;
  /** To the last byte; null: no such limit. */
  readonly total: RequestLimit | null;
}

/** Everything that can end one call from outside: the client, the time limits, the loss of the engine. */
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

  /** `client` aborts when the client leaves, `engine` when the engine is lost; null for who is no engine of ours. */
  constructor(clock: Clock, limits: CallLimits, client: AbortSignal, engine: AbortSignal | null) {
    this.#client = client;
    this.#engine = engine;
    this.#onAbort = () =>
      this.#lose(client.aborted ? errorOf(client.reason) : new UpstreamStreamError('the engine was lost'));
    client.addEventListener('abort', this.#onAbort, { once: true });
    engine?.addEventListener('abort', this.#onAbort, { once: true });
    const { firstByteMs, budget, total } = limits;
    const limit = (kind: ExpiredLimit['kind'], { leftMs, limitMs }: RequestLimit): Timer =>
      clock.after(leftMs, () => this.#expire({ kind, limitMs }));
    this.#firstByte =
      firstByteMs < budget.leftMs
        ? limit('first_byte', { leftMs: firstByteMs, limitMs: firstByteMs })
        : noTimer;
    this.#budget = limit('budget', budget);
    this.#total = total === null ? null : limit('total', total);
    // Whoever is gone already says so no more: a worker may hear of a lane and of its loss in one turn.
    if (client.aborted || engine?.aborted === true) this.#onAbort();
  }

  /** The first byte of a response is here. Nothing of a stream is, until it says something: an empty one must not wait for ever. */
  responded(how: { readonly isStream: boolean }): void {
    this.#firstByte.cancel();
    if (!how.isStream) this.#budget.cancel();
  }

  /** Words of the answer are here: from now on silence is limited, and the total. */
  answered(): void {
    this.#firstByte.cancel();
    this.#budget.cancel();
  }

  end(): void {
    this.answered();
    this.#total?.cancel();
    this.#client.removeEventListener('abort', this.#onAbort);
    this.#engine?.removeEventListener('abort', this.#onAbort);
  }

  #expire(limit: ExpiredLimit): void {
    this.expired ??= limit;
    this.#lose(new UpstreamStreamError('no answer in time', { expired: limit }));
  }

  /** The first reason stands. */
  #lose(reason: Error): void {
    if (this.cancelReason !== null) return;
    this.cancelReason = reason;
    this.onCancel?.(reason);
  }
}

const noTimer: Timer = { cancel: () => {} };

function errorOf(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('aborted');
}
