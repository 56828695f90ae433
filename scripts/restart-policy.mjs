const firstDelayMs = 250;
const maxDelayMs = 10_000;
/** After serving this long the count of failures is reset. */
const steadyAfterMs = 30_000;
const maxRestarts = 10;

/**
 * The restart policy of a crashed server: at once, then after 0.25 s, 0.5 s … 10 s; gives up after
 * ten failures in a row.
 */
export class RestartPolicy {
  #restarts = 0;
  #hasServed = false;

  /**
   * Milliseconds until the next start, or null for none. `servedMs` is how long the process served,
   * null when it never did. There is no restart after a failed first start, a clean end, or exit
   * code 1, an error that the operator must repair.
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
