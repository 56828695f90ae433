/** How long a candidate is spared that asked for fewer requests (`routing:` of naru.yaml). */
export interface CoolDownLimits {
  /** When it did not say for how long, or said something absurd; twice as long each time in a row. Milliseconds. */
  readonly coolDownMs: number;
  /** The longest that is believed, and the longest there is. */
  readonly maxCoolDownMs: number;
}

const minMs = 1_000;

/** How long one candidate is spared after a 429. Instants are monotonic milliseconds. */
export class CoolDown {
  readonly #limits: CoolDownLimits;
  #untilMs = Number.NEGATIVE_INFINITY;
  #inARow = 0;

  constructor(limits: CoolDownLimits) {
    this.#limits = limits;
  }

  /** Milliseconds that are left; 0 when it may be asked. */
  leftMs(nowMs: number): number {
    return Math.max(0, this.#untilMs - nowMs);
  }

  /**
   * It asked for fewer requests. `retryAfterMs` is what it said, believed from a second up to the limit. What was on its way when
   * the cool-down began counts once, however much there was of it.
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

  /** It answered. */
  end(): void {
    this.#inARow = 0;
  }
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/**
 * What an answer says about when to come back, in milliseconds from now; null when it says nothing that can be read. A date is
 * measured against the answer's own `Date`, since the clocks of the two ends need not agree; `nowMs` is civil time.
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

/** Epoch milliseconds of the one form of date that HTTP still writes, such as `Sun, 06 Nov 1994 08:49:37 GMT`. */
function httpDate(text: string): number | null {
  if (!/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text)) return null;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : ms;
}

function textOf(headers: Headers, name: string): string | null {
  const value = headers[name];
  return typeof value === 'string' ? value.trim() : null;
}
