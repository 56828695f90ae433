/**
 * The use of a claim's bytes: a body that arrives or is processed, an upstream's full response, a
 * response that waits for its client.
 */
export type BufferKind = 'body' | 'answer' | 'unsent';
const kinds: readonly BufferKind[] = ['body', 'answer', 'unsent'];

/** The limits of a budget. */
export interface BudgetLimits {
  /** For all requests together. */
  readonly totalBytes: number;
  /** For the requests of one client: of one address, or with one key. */
  readonly clientBytes: number;
}

/** The clock of a budget. */
interface MonotonicClock {
  monotonic(): number;
}

/**
 * The memory of this process that requests use while they last: their bodies, the upstream
 * responses that are read in full, and what clients have not read yet. Before usage exceeds a
 * limit, the claim with the most bytes for the longest time is shed, among all or of the client
 * above its limit. Time counts while a request waits for its client to send or to read; waiting for
 * an upstream does not count as slow.
 */
export class MemoryBudget {
  readonly #limits: () => BudgetLimits;
  readonly #clock: MonotonicClock;
  readonly #claims = new Set<MemoryClaim>();
  /** The claims and bytes of each client. */
  readonly #clients = new Map<string, { readonly claims: Set<MemoryClaim>; bytes: number }>();
  readonly #held: Record<BufferKind, number> = { body: 0, answer: 0, unsent: 0 };
  #bytes = 0;
  #shed = 0;
  #peakBytes = 0;

  /** `limits` is called each time, because the limits may change. */
  constructor(limits: () => BudgetLimits, clock: MonotonicClock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  get totalBytes(): number {
    return this.#limits().totalBytes;
  }

  get heldBytes(): number {
    return this.#bytes;
  }

  /** The peak usage since the last call. */
  takePeak(): number {
    const peakBytes = this.#peakBytes;
    this.#peakBytes = this.#bytes;
    return peakBytes;
  }

  /** Number of claims shed so far. */
  get shedCount(): number {
    return this.#shed;
  }

  heldAs(kind: BufferKind): number {
    return this.#held[kind];
  }

  /** An empty claim for one request. `shed` ends the request; it is called once at most. */
  claim(shed: () => void): MemoryClaim {
    return new MemoryClaim(shed, this.#clock.monotonic(), {
      changed: (claim, kind, bytes) => this.#changed(claim, kind, bytes),
      joined: (claim, client) => this.#join(claim, client),
    });
  }

  #changed(claim: MemoryClaim, kind: BufferKind, bytes: number): void {
    this.#add(claim, kind, bytes);
    if (bytes <= 0) return;
    const { totalBytes, clientBytes } = this.#limits();
    for (const client of claim.clients) this.#shedOf(this.#clients.get(client), clientBytes);
    this.#shedOf({ claims: this.#claims, bytes: this.#bytes }, totalBytes);
    this.#peakBytes = Math.max(this.#peakBytes, this.#bytes);
  }

  #add(claim: MemoryClaim, kind: BufferKind, bytes: number): void {
    this.#bytes += bytes;
    this.#held[kind] += bytes;
    if (claim.bytes > 0) this.#claims.add(claim);
    else this.#claims.delete(claim);
    for (const client of claim.clients) this.#addTo(client, claim, bytes);
  }

  #join(claim: MemoryClaim, client: string): void {
    if (claim.bytes > 0) this.#addTo(client, claim, claim.bytes);
  }

  #addTo(client: string, claim: MemoryClaim, bytes: number): void {
    const group = this.#clients.get(client) ?? { claims: new Set(), bytes: 0 };
    group.bytes += bytes;
    if (claim.bytes > 0) group.claims.add(claim);
    else group.claims.delete(claim);
    if (group.claims.size > 0) this.#clients.set(client, group);
    else this.#clients.delete(client);
  }

  /** Sheds claims until the rest is within the limit, or cannot be shed. */
  #shedOf(
    group: { readonly claims: ReadonlySet<MemoryClaim>; readonly bytes: number } | undefined,
    limit: number,
  ): void {
    if (group === undefined) return;
    let excess = group.bytes - limit;
    while (excess > 0) {
      const worst = this.#worstOf(group.claims);
      if (worst === null) return;
      excess -= worst.bytes;
      this.#shed += 1;
      worst.end();
    }
  }

  #worstOf(claims: ReadonlySet<MemoryClaim>): MemoryClaim | null {
    const nowMs = this.#clock.monotonic();
    let worst: MemoryClaim | null = null;
    let worstWeight = -1;
    for (const claim of claims) {
      if (!claim.canBeShed) continue;
      const slowSec = claim.slowSinceMs === null ? 0 : (nowMs - claim.slowSinceMs) / 1_000;
      const weight = claim.bytes * (1 + slowSec);
      if (weight <= worstWeight) continue;
      worst = claim;
      worstWeight = weight;
    }
    return worst;
  }
}

/** How a claim reports to its budget. */
interface Ledger {
  readonly changed: (claim: MemoryClaim, kind: BufferKind, bytes: number) => void;
  readonly joined: (claim: MemoryClaim, client: string) => void;
}

/** The memory of one request. After it was shed or released it uses none. */
export class MemoryClaim {
  /** Since when it waits for its client, monotonic milliseconds; null while it does not. */
  slowSinceMs: number | null;
  /** The clients it counts for. */
  readonly clients: string[] = [];
  readonly #shed: () => void;
  readonly #ledger: Ledger;
  readonly #held: Record<BufferKind, number> = { body: 0, answer: 0, unsent: 0 };
  #bytes = 0;
  #isOver = false;
  /** Whether its request can be ended without harm: nothing of a response was sent. */
  canBeShed = true;

  constructor(shed: () => void, sinceMs: number, ledger: Ledger) {
    this.#shed = shed;
    this.slowSinceMs = sinceMs;
    this.#ledger = ledger;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** From now on it counts for this client too. */
  countFor(client: string): void {
    this.clients.push(client);
    this.#ledger.joined(this, client);
  }

  /**
   * Sets the bytes of this kind, replacing the previous number. May shed any claim, including this
   * one.
   */
  setBytes(kind: BufferKind, bytes: number): void {
    if (this.#isOver) return;
    const more = bytes - this.#held[kind];
    if (more === 0) return;
    this.#held[kind] = bytes;
    this.#bytes += more;
    this.#ledger.changed(this, kind, more);
  }

  /** The request has ended. */
  release(): void {
    if (this.#isOver) return;
    for (const kind of kinds) this.setBytes(kind, 0);
    this.#isOver = true;
  }

  /** Ends its request for lack of memory. */
  end(): void {
    this.release();
    this.#shed();
  }
}
