import { LinkedList, type ListPlace } from './linked-list.ts';

/**
 * The use of a claim's bytes: a body that arrives or is processed, an upstream's full response, a
 * response that waits for its client, an event of an upstream whose end has not arrived.
 */
export type BufferKind = 'body' | 'answer' | 'unsent' | 'event';
/** Every kind. */
export const bufferKinds: readonly BufferKind[] = ['body', 'answer', 'unsent', 'event'];
/** As many clients are known without a look for those that can be dropped; each takes 200 bytes. */
const minClients = 1_000;

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
  readonly #all: Group = { claims: new LinkedList(), bytes: 0 };
  readonly #clients = new Map<string, Group>();
  /** With as many clients, those without a claim are dropped. */
  #maxClients = minClients;
  readonly #held: Record<BufferKind, number> = { body: 0, answer: 0, unsent: 0, event: 0 };
  /** How claims report to this budget. */
  readonly #ledger: Ledger = {
    join: (claim) => this.#join(claim),
    joinClient: (claim, client) => this.#joinClient(claim, client),
    leave: (claim) => this.#leave(claim),
    change: (claim, kind, bytes) => this.#change(claim, kind, bytes),
  };
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
    return this.#all.bytes;
  }

  /** The peak usage since the last call. */
  takePeak(): number {
    const peakBytes = this.#peakBytes;
    this.#peakBytes = this.heldBytes;
    return peakBytes;
  }

  /** Clients that are known, with claims or without. */
  get clientCount(): number {
    return this.#clients.size;
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
    return new MemoryClaim(shed, this.#clock.monotonic(), this.#ledger);
  }

  #join(claim: MemoryClaim): void {
    claim.place = this.#all.claims.add(claim);
    for (const client of claim.clients) this.#joinClient(claim, client);
  }

  #joinClient(claim: MemoryClaim, client: string): void {
    let group = this.#clients.get(client);
    if (group === undefined) {
      if (this.#clients.size >= this.#maxClients) this.#dropIdleClients();
      group = { claims: new LinkedList(), bytes: 0 };
      this.#clients.set(client, group);
    }
    group.bytes += claim.bytes;
    claim.groups.push({ group, place: group.claims.add(claim) });
  }

  #leave(claim: MemoryClaim): void {
    claim.place?.remove();
    for (const { place } of claim.groups) place.remove();
    claim.groups.length = 0;
  }

  /**
   * Groups without a claim stay until there are many: to add and remove one for each request would
   * make them all old (see `LinkedList`).
   */
  #dropIdleClients(): void {
    for (const [client, { claims }] of this.#clients) if (claims.size === 0) this.#clients.delete(client);
    this.#maxClients = Math.max(minClients, 2 * this.#clients.size);
  }

  #change(claim: MemoryClaim, kind: BufferKind, bytes: number): void {
    this.#held[kind] += bytes;
    this.#all.bytes += bytes;
    for (const { group } of claim.groups) group.bytes += bytes;
    if (bytes <= 0) return;
    const { totalBytes, clientBytes } = this.#limits();
    for (const { group } of claim.groups) this.#shedOf(group, clientBytes);
    this.#shedOf(this.#all, totalBytes);
    this.#peakBytes = Math.max(this.#peakBytes, this.heldBytes);
  }

  /** Sheds claims until the rest is within the limit, or cannot be shed. */
  #shedOf(group: Group, limit: number): void {
    let excess = group.bytes - limit;
    while (excess > 0) {
      const worst = this.#worstOf(group.claims);
      if (worst === null) return;
      excess -= worst.bytes;
      this.#shed += 1;
      worst.end();
    }
  }

  #worstOf(claims: Iterable<MemoryClaim>): MemoryClaim | null {
    const nowMs = this.#clock.monotonic();
    let worst: MemoryClaim | null = null;
    let worstWeight = 0;
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

/** The claims that a limit counts together: those of one client, or all. */
interface Group {
  readonly claims: LinkedList<MemoryClaim>;
  bytes: number;
}

/** A group of a claim, and where the claim is in it. */
interface Membership {
  readonly group: Group;
  readonly place: ListPlace<MemoryClaim>;
}

interface Ledger {
  /** The claim has its first bytes. */
  readonly join: (claim: MemoryClaim) => void;
  readonly joinClient: (claim: MemoryClaim, client: string) => void;
  readonly leave: (claim: MemoryClaim) => void;
  readonly change: (claim: MemoryClaim, kind: BufferKind, bytes: number) => void;
}

/** The memory of one request. After it was shed or released it uses none. */
export class MemoryClaim {
  /** Since when it waits for its client, monotonic milliseconds; null while it does not. */
  slowSinceMs: number | null;
  /** The clients it counts for. */
  readonly clients: string[] = [];
  /** The groups of its clients, in their order; empty before it has bytes. */
  readonly groups: Membership[] = [];
  /** Where it is among all; null before it has bytes. */
  place: ListPlace<MemoryClaim> | null = null;
  readonly #shed: () => void;
  readonly #ledger: Ledger;
  readonly #held: Record<BufferKind, number> = { body: 0, answer: 0, unsent: 0, event: 0 };
  #bytes = 0;
  #state: 'empty' | 'joined' | 'over' = 'empty';
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
    if (this.#state === 'joined') this.#ledger.joinClient(this, client);
  }

  /**
   * Sets the bytes of this kind, replacing the previous number. May shed any claim, including this
   * one.
   */
  setBytes(kind: BufferKind, bytes: number): void {
    const more = bytes - this.#held[kind];
    if (more === 0 || this.#state === 'over') return;
    if (this.#state === 'empty') this.#ledger.join(this);
    this.#state = 'joined';
    this.#held[kind] = bytes;
    this.#bytes += more;
    this.#ledger.change(this, kind, more);
  }

  /** The request has ended. */
  release(): void {
    if (this.#state === 'over') return;
    for (const kind of bufferKinds) this.setBytes(kind, 0);
    if (this.#state === 'joined') this.#ledger.leave(this);
    this.#state = 'over';
  }

  /** Ends its request for lack of memory. */
  end(): void {
    this.release();
    this.#shed();
  }
}
