/** How long a candidate rests after it returned 429 (`routing:` of naru.yaml). */
export interface CoolDownLimits {
  /** Used without a valid `Retry-After`; doubled each consecutive time. Milliseconds. */
  readonly coolDownMs: number;
  /** The maximum of a cool-down, and of an accepted `Retry-After`. */
  readonly maxCoolDownMs: number;
}

const minMs = 1_000;

/** The cool-down of one candidate after a 429. Instants are monotonic milliseconds. */
export class CoolDown {
  readonly #limits: CoolDownLimits;
  #untilMs = Number.NEGATIVE_INFINITY;
  #inARow = 0;

  constructor(limits: CoolDownLimits) {
    this.#limits = limits;
  }

  /** Milliseconds left; 0 when there is no cool-down. */
  leftMs(nowMs: number): number {
    return Math.max(0, this.#untilMs - nowMs);
  }

  /**
   * The candidate returned 429. `retryAfterMs` is its `Retry-After`, accepted from one second up to
   * the limit. Requests that were in flight when the cool-down began count once together.
   */
  begin(nowMs: number, retryAfterMs: number | null): void {
    const isSane =
      retryAfterMs !== null && retryAfterMs >= minMs && retryAfterMs <= this.#limits.maxCoolDownMs;
    if (isSane) {
      this.#untilMs = Math.max(this.#untilMs, nowMs + retryAfterMs);
      return;
    }
    if (this.leftMs(nowMs) > 0) return;
    const { coolDownMs, maxCoolDownMs } = this.#limits;
    this.#untilMs = nowMs + Math.min(coolDownMs * 2 ** Math.min(this.#inARow, 30), maxCoolDownMs);
    this.#inARow += 1;
  }

  /** The candidate responded. */
  end(): void {
    this.#inARow = 0;
  }
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/**
 * The `Retry-After` of a response, in milliseconds from now; null when there is no valid one. A
 * date is compared with the response's own `Date`, because the two clocks may differ; `nowMs` is
 * civil time.
 */
export function retryAfterOf(headers: Headers, nowMs: number): number | null {
  const exact = textOf(headers, 'retry-after-ms');
  if (exact !== null && seconds.test(exact)) return Number(exact);
  const stated = textOf(headers, 'retry-after');
  if (stated === null) return null;
  if (seconds.test(stated)) return Number(stated) * 1000;
  const untilMs = httpDate(stated);
  if (untilMs === null) return null;
  return untilMs - (httpDate(textOf(headers, 'date') ?? '') ?? nowMs);
}

const seconds = /^\d{1,12}(?:\.\d{1,6})?$/;

/**
 * Epoch milliseconds of the one date format that HTTP still writes, such as `Sun, 06 Nov 1994
 * 08:49:37 GMT`.
 */
function httpDate(text: string): number | null {
  if (!/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text)) return null;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : ms;
}

function textOf(headers: Headers, name: string): string | null {
  const value = headers[name];
  return typeof value === 'string' ? value.trim() : null;
}
