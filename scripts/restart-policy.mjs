const firstDelayMs = 250;
const maxDelayMs = 10_000;
/** So long a service makes earlier ends count for nothing. */
const steadyAfterMs = 30_000;
const maxRestarts = 10;

/** When a server that ended by itself is started again: at once, then after 0.25 s, 0.5 s … 10 s; after ten in a row no more. */
export class RestartPolicy {
  #restarts = 0;
  #hasServed = false;

  /**
   * Milliseconds until the next start, or null when there is none. `servedMs` is how long the process served, null when it never did.
   * A first start that fails is not repeated, and neither is one that ended in order, or with the exit code 1 of an error that the
   * operator can repair.
   */
  ended({ code, servedMs }) {
    if (servedMs !== null) this.#hasServed = true;
    if (!this.#hasServed || code === 0) return null;
    if (servedMs !== null && code === 1) return null;
    if (servedMs !== null && servedMs >= steadyAfterMs) this.#restarts = 0;
    this.#restarts += 1;
    if (this.#restarts > maxRestarts) return null;
    return this.#restarts === 1 ? 0 : Math.min(maxDelayMs, firstDelayMs * 2 ** (this.#restarts - 2));
  }
}
