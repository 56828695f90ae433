/**
 * The shutdown of a process: requested once, then perhaps aborted. Each call of a method works
 * alone as a callback.
 */
export class Shutdown {
  readonly #requested = Promise.withResolvers<void>();
  readonly #abort = new AbortController();
  #isRequested = false;
  #signals = 0;

  /** Resolves when requests in flight should be drained. */
  get requested(): Promise<void> {
    return this.#requested.promise;
  }

  get isRequested(): boolean {
    return this.#isRequested;
  }

  /** Aborts when the requests in flight should end. */
  get aborted(): AbortSignal {
    return this.#abort.signal;
  }

  readonly request = (): void => {
    this.#isRequested = true;
    this.#requested.resolve();
  };

  readonly abort = (): void => this.#abort.abort();

  /** Handles a stop signal: the first one drains, the next one aborts. */
  readonly onSignal = (): void => {
    this.#signals += 1;
    if (this.#signals === 1) this.request();
    else this.abort();
  };
}
