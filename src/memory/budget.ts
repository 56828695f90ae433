/**
 * The use of a claim's bytes: a body that arrives or is processed, an upstream's full response, a
 * response that waits for its client, an event of an upstream whose end has not arrived.
 */
export type BufferKind = 'body' | 'answer' | 'unsent' | 'event';
/** Every kind. */
export const bufferKinds: readonly BufferKind[] = ['body', 'answer', 'unsent', 'event'];

/** The limits of a budget. */
export interface BudgetLimits {
  /** For all requests together. */
  readonly totalBytes: number;
  /** For the requests of one client: of one key, or without a key of one address. */
  readonly clientBytes: number;
}

/**
 * The memory of this process that requests use while they last: their bodies, the upstream
 * responses that are read in full, and what clients have not read yet. Bytes that do not fit are
 * not admitted: their request is refused, and no other.
 */
export class MemoryBudget {
  readonly #limits: () => BudgetLimits;
  readonly #held: Record<BufferKind, number> = { body: 0, answer: 0, unsent: 0, event: 0 };
  readonly #clients = new Map<string, number>();
  #heldBytes = 0;
  #refusedCount = 0;

  /** `limits` is called each time, because the limits may change. */
  constructor(limits: () => BudgetLimits) {
    this.#limits = limits;
  }

  get totalBytes(): number {
    return this.#limits().totalBytes;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Number of claims refused so far. */
  get refusedCount(): number {
    return this.#refusedCount;
  }

  heldAs(kind: BufferKind): number {
    return this.#held[kind];
  }

  heldFor(client: string): number {
    return this.#clients.get(client) ?? 0;
  }

  /** An empty claim for one request of a client. `refuse` ends the request; it is called once at most. */
  claim(client: string, refuse: () => void): MemoryClaim {
    return new MemoryClaim(this, client, () => {
      this.#refusedCount += 1;
      refuse();
    });
  }

  /** Whether a client may use so many bytes more. */
  fits(client: string, bytes: number): boolean {
    const { totalBytes, clientBytes } = this.#limits();
    return this.#heldBytes + bytes <= totalBytes && this.heldFor(client) + bytes <= clientBytes;
  }

  /** Counts bytes of a claim; a negative number returns them. */
  add(client: string, kind: BufferKind, bytes: number): void {
    this.#held[kind] += bytes;
    this.#heldBytes += bytes;
    const ofClient = this.heldFor(client) + bytes;
    if (ofClient === 0) this.#clients.delete(client);
    else this.#clients.set(client, ofClient);
  }
}

/** The memory of one request. After it was refused or released it uses none. */
export class MemoryClaim {
  readonly #budget: MemoryBudget;
  readonly #refuse: () => void;
  readonly #held: Record<BufferKind, number> = { body: 0, answer: 0, unsent: 0, event: 0 };
  #client: string;
  #isOver = false;
  /** Whether its request can be ended without harm: nothing of a stream was sent. */
  canBeRefused = true;

  constructor(budget: MemoryBudget, client: string, refuse: () => void) {
    this.#budget = budget;
    this.#client = client;
    this.#refuse = refuse;
  }

  /** From now on it counts for this client. */
  countFor(client: string): void {
    for (const kind of bufferKinds) {
      const bytes = this.#held[kind];
      if (bytes === 0) continue;
      this.#budget.add(this.#client, kind, -bytes);
      this.#budget.add(client, kind, bytes);
    }
    this.#client = client;
  }

  /** Sets the bytes of this kind, replacing the previous number; more than fit end the request. */
  setBytes(kind: BufferKind, bytes: number): void {
    const more = bytes - this.#held[kind];
    if (more === 0 || this.#isOver) return;
    if (more > 0 && this.canBeRefused && !this.#budget.fits(this.#client, more)) {
      this.release();
      this.#refuse();
      return;
    }
    this.#held[kind] = bytes;
    this.#budget.add(this.#client, kind, more);
  }

  /** The request has ended. */
  release(): void {
    for (const kind of bufferKinds) this.setBytes(kind, 0);
    this.#isOver = true;
  }
}
