import type { SettlementRow } from './settlement-sql.ts';
import { type SettlementListener, Settler, type SettlerParts } from './settler.ts';

/**
 * One queue of settlements for each part of the accounts, so that a batch never spans two of them and
 * a server that is away delays its own accounts only.
 */
export class Settlers {
  readonly #parts: SettlerParts;
  readonly #settlers = new Map<number, Settler>();

  constructor(parts: SettlerParts) {
    this.#parts = parts;
  }

  /** Rows that are not committed yet. */
  get backlog(): number {
    let backlog = 0;
    for (const settler of this.#settlers.values()) backlog += settler.backlog;
    return backlog;
  }

  /** Whether the last attempt for this account's part failed: it is away. */
  isFailingFor(accountId: number): boolean {
    return this.#settlers.get(this.#parts.database.placement.partOf(accountId))?.isFailing ?? false;
  }

  /** See `Settler`. */
  push(row: SettlementRow, listener: SettlementListener, isLeftover = false): void {
    const part = this.#parts.database.placement.partOf(row.accountId);
    let settler = this.#settlers.get(part);
    if (settler === undefined) {
      settler = new Settler(this.#parts);
      this.#settlers.set(part, settler);
    }
    settler.push(row, listener, isLeftover);
  }

  /** The commit of what is queued for this account is awaited. */
  hasten(accountId: number): void {
    this.#settlers.get(this.#parts.database.placement.partOf(accountId))?.hasten();
  }

  /** See `Settler`. */
  replace(uuid: string, row: SettlementRow): boolean {
    // The parts may have changed since it was queued.
    for (const settler of this.#settlers.values()) if (settler.replace(uuid, row)) return true;
    return false;
  }

  /** Resolves when everything pushed so far is committed or set aside. */
  async drained(): Promise<void> {
    await Promise.all([...this.#settlers.values()].map((settler) => settler.drained()));
  }

  /**
   * The same, but does not wait for long for one of several servers that is away. Reads of its
   * accounts fail until they are settled.
   */
  async drainedWhereReached(): Promise<void> {
    const { database, log } = this.#parts;
    const queues = [...this.#settlers].map(([part, settler]) => ({
      part,
      drained: settler.drained(),
      isFailing: () => settler.isFailing,
    }));
    for (const part of await database.placement.drained(queues)) {
      const settlements = this.#settlers.get(part)?.backlog;
      log.warn('recovery_waits_for_shard', { shard: part + 1, settlements });
    }
  }

  /**
   * Resolves when everything pushed so far is committed or set aside, whatever is pushed meanwhile.
   */
  async caughtUp(): Promise<void> {
    await Promise.all([...this.#settlers.values()].map((settler) => settler.caughtUp()));
  }

  /** Stops retrying; the rest stays in the journal. */
  stop(): void {
    for (const settler of this.#settlers.values()) settler.stop();
  }
}
