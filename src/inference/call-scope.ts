import type { Clock, Timer } from '../time/clock.ts';
import type { Patience } from '../upstreams/call.ts';
import { UpstreamBroke } from './upstream-broke.ts';

/** Everything that can end one call from outside: the client, the time until the first byte, the loss of the engine. */
export class CallScope implements Patience {
  lost: Error | null = null;
  onLost: ((reason: Error) => void) | null = null;
  timedOut = false;
  readonly #client: AbortSignal;
  readonly #engine: AbortSignal | null;
  readonly #onAbort: () => void;
  #firstByte: Timer | null;
  readonly #total: Timer | null;

  /** `client` aborts when the client leaves, `engine` when the engine is lost; null for who is no engine of ours. */
  constructor(
    clock: Clock,
    limits: { readonly firstByteMs: number; readonly totalMs: number | null },
    client: AbortSignal,
    engine: AbortSignal | null,
  ) {
    this.#client = client;
    this.#engine = engine;
    this.#onAbort = () =>
      this.#lose(client.aborted ? errorOf(client.reason) : new UpstreamBroke('the engine was lost'));
    client.addEventListener('abort', this.#onAbort, { once: true });
    engine?.addEventListener('abort', this.#onAbort, { once: true });
    this.#firstByte = clock.after(limits.firstByteMs, () => this.#giveUp('no answer in time'));
    this.#total =
      limits.totalMs === null
        ? null
        : clock.after(limits.totalMs, () => this.#giveUp('the answer took too long'));
    // Whoever is gone already says so no more: a worker may hear of a lane and of its loss in one turn.
    if (client.aborted || engine?.aborted === true) this.#onAbort();
  }

  /** The first byte is here: from now on silence is limited by the chunk source. */
  answered(): void {
    this.#firstByte?.cancel();
    this.#firstByte = null;
  }

  end(): void {
    this.answered();
    this.#total?.cancel();
    this.#client.removeEventListener('abort', this.#onAbort);
    this.#engine?.removeEventListener('abort', this.#onAbort);
  }

  #giveUp(why: string): void {
    this.timedOut = true;
    this.#lose(new UpstreamBroke(why, { timedOut: true, status: 408 }));
  }

  /** The first reason stands. */
  #lose(reason: Error): void {
    if (this.lost !== null) return;
    this.lost = reason;
    this.onLost?.(reason);
  }
}

function errorOf(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('aborted');
}
