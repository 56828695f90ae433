import type { Clock, Timer } from '../time/clock.ts';
import { UpstreamBroke } from './upstream-broke.ts';

/** Everything that can end one call from outside: the client, the time until the first byte, the loss of the engine. */
export class CallScope {
  readonly #controller = new AbortController();
  readonly #sources: readonly AbortSignal[];
  readonly #onAbort: (event: Event) => void;
  readonly #firstByte: Timer;
  readonly #total: Timer | null;
  timedOut = false;

  constructor(
    clock: Clock,
    limits: { readonly firstByteMs: number; readonly totalMs: number | null },
    client: AbortSignal,
    lost: AbortSignal | null,
  ) {
    this.#sources = lost === null ? [client] : [client, lost];
    this.#onAbort = (event) => {
      const source = event.target as AbortSignal;
      this.#controller.abort(source === lost ? new UpstreamBroke('the engine was lost') : source.reason);
    };
    for (const source of this.#sources) source.addEventListener('abort', this.#onAbort, { once: true });
    this.#firstByte = clock.after(limits.firstByteMs, () => this.#giveUp('no answer in time'));
    this.#total =
      limits.totalMs === null
        ? null
        : clock.after(limits.totalMs, () => this.#giveUp('the answer took too long'));
    if (client.aborted) this.#controller.abort(client.reason);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The first byte is here: from now on silence is limited by the chunk source. */
  answered(): void {
    this.#firstByte.cancel();
  }

  end(): void {
    this.#firstByte.cancel();
    this.#total?.cancel();
    for (const source of this.#sources) source.removeEventListener('abort', this.#onAbort);
  }

  #giveUp(why: string): void {
    this.timedOut = true;
    this.#controller.abort(new UpstreamBroke(why, { timedOut: true, status: 408 }));
  }
}
