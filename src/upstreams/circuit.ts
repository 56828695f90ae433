/** When a candidate is no longer asked first, and for how long (`routing:` of naru.yaml). */
export interface CircuitLimits {
  /** Failures in a row that open the circuit. */
  readonly failures: number;
  /** How long it stays open the first time, in milliseconds; twice as long each time that a probe fails. */
  readonly openMs: number;
  /** The longest that it stays open. */
  readonly maxOpenMs: number;
}

/** `due`: open, and the next request may try it; `probing`: one does. */
export type CircuitState = 'closed' | 'open' | 'due' | 'probing';

/**
 * The circuit breaker of one candidate. Failures in a row open it; after a while one request at a time may try it, and the first
 * words of an answer close it again, on probation: until an answer has come to its end, one more failure opens it at once. It
 * never forbids anything, it only says how things stand. Instants are monotonic milliseconds.
 */
export class Circuit {
  readonly #limits: CircuitLimits;
  #failures = 0;
  /** How often it opened since it last was well. */
  #openings = 0;
  #openedMs: number | null = null;
  #dueMs = 0;
  #probing = false;

  constructor(limits: CircuitLimits) {
    this.#limits = limits;
  }

  /** Failures in a row. */
  get failures(): number {
    return this.#failures;
  }

  /** When it opened; null while it is closed. */
  get openedMs(): number | null {
    return this.#openedMs;
  }

  /** When the next request may try it; only while it is open. */
  get dueMs(): number {
    return this.#dueMs;
  }

  state(nowMs: number): CircuitState {
    if (this.#openedMs === null) return 'closed';
    if (this.#probing) return 'probing';
    return nowMs >= this.#dueMs ? 'due' : 'open';
  }

  /** Takes the one probe that is due. False when none is: then it is closed, still open, or somebody else probes. */
  takeProbe(nowMs: number): boolean {
    if (this.state(nowMs) !== 'due') return false;
    this.#probing = true;
    return true;
  }

  /** A probe is over, whatever came of it. */
  endProbe(): void {
    this.#probing = false;
  }

  /** An attempt failed. One that is not the probe says nothing new of an open circuit. */
  failed(nowMs: number, isProbe: boolean): void {
    if (this.#openedMs !== null && !isProbe) return;
    this.#failures += 1;
    if (isProbe || this.#failures >= this.#limits.failures) this.#open(nowMs);
  }

  /**
   * Somebody who was asked at `askedMs` has spoken. What was asked before the circuit opened is no news. True when this closed it.
   */
  responded(askedMs: number): boolean {
    if (this.#openedMs === null || askedMs < this.#openedMs) return false;
    this.#openedMs = null;
    this.#failures = this.#limits.failures - 1;
    return true;
  }

  /** An answer has come to its end. */
  worked(): void {
    if (this.#openedMs !== null) return;
    this.#failures = 0;
    this.#openings = 0;
  }

  #open(nowMs: number): void {
    const { openMs, maxOpenMs } = this.#limits;
    const lastsMs = Math.min(openMs * 2 ** Math.min(this.#openings, 30), maxOpenMs);
    this.#openings += 1;
    this.#openedMs ??= nowMs;
    this.#dueMs = nowMs + lastsMs;
  }
}
