import type { RoutingConfig } from '../config/config.ts';

/** `due`: open, and the next request may probe it; `probing`: a probe is in flight. */
export type CircuitState = 'closed' | 'open' | 'due' | 'probing';

/**
 * The circuit breaker of one candidate. Consecutive failures open it. After a while one request at
 * a time may probe it, and the first content of a response closes it on probation: until a response
 * completes, one more failure opens it at once. It forbids nothing, it only reports its state.
 * Instants are monotonic milliseconds.
 */
export class Circuit {
  readonly #limits: RoutingConfig;
  #failures = 0;
  /** How often it opened since it was last healthy. */
  #openings = 0;
  #openedMs: number | null = null;
  #dueMs = 0;
  #probing = false;

  constructor(limits: RoutingConfig) {
    this.#limits = limits;
  }

  /** Consecutive failures. */
  get failures(): number {
    return this.#failures;
  }

  /** When it opened; null while it is closed. */
  get openedMs(): number | null {
    return this.#openedMs;
  }

  /** When the next request may probe it; only while it is open. */
  get dueMs(): number {
    return this.#dueMs;
  }

  state(nowMs: number): CircuitState {
    if (this.#openedMs === null) return 'closed';
    if (this.#probing) return 'probing';
    return nowMs >= this.#dueMs ? 'due' : 'open';
  }

  /** Takes the probe if one is due. False when it is closed, still open, or already probed. */
  takeProbe(nowMs: number): boolean {
    if (this.state(nowMs) !== 'due') return false;
    this.#probing = true;
    return true;
  }

  /** The probe is over, whatever its result. */
  endProbe(): void {
    this.#probing = false;
  }

  /** An attempt failed. Only a probe's failure affects an open circuit. */
  failed(nowMs: number, isProbe: boolean): void {
    if (this.#openedMs !== null && !isProbe) return;
    this.#failures += 1;
    if (isProbe || this.#failures >= this.#limits.circuitFailures) this.#open(nowMs);
  }

  /**
   * A request sent at `askedMs` got content. A request sent before the circuit opened is ignored.
   * True when this closed the circuit.
   */
  responded(sentAtMs: number): boolean {
    if (this.#openedMs === null || sentAtMs < this.#openedMs) return false;
    this.#openedMs = null;
    this.#failures = this.#limits.circuitFailures - 1;
    return true;
  }

  /** A response is complete. */
  worked(): void {
    if (this.#openedMs !== null) return;
    this.#failures = 0;
    this.#openings = 0;
  }

  #open(nowMs: number): void {
    const { circuitOpenMs, longestCircuitOpenMs } = this.#limits;
    const lastsMs = Math.min(circuitOpenMs * 2 ** Math.min(this.#openings, 30), longestCircuitOpenMs);
    this.#openings += 1;
    this.#openedMs ??= nowMs;
    this.#dueMs = nowMs + lastsMs;
  }
}

const minMs = 1_000;

/** The cool-down of one candidate after a 429. Instants are monotonic milliseconds. */
export class CoolDown {
  readonly #limits: RoutingConfig;
  #untilMs = Number.NEGATIVE_INFINITY;
  #inARow = 0;

  constructor(limits: RoutingConfig) {
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
      retryAfterMs !== null && retryAfterMs >= minMs && retryAfterMs <= this.#limits.longestCoolDownMs;
    if (isSane) {
      this.#untilMs = Math.max(this.#untilMs, nowMs + retryAfterMs);
      return;
    }
    if (this.leftMs(nowMs) > 0) return;
    const { coolDownMs, longestCoolDownMs } = this.#limits;
    this.#untilMs = nowMs + Math.min(coolDownMs * 2 ** Math.min(this.#inARow, 30), longestCoolDownMs);
    this.#inARow += 1;
  }

  /** The candidate responded. */
  end(): void {
    this.#inARow = 0;
  }
}
