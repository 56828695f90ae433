import { within } from '../time/clock.ts';
import type { SettlementRow } from './settlement-sql.ts';
import { type SettlementListener, Settler, type SettlerParts } from './settler.ts';

/** How long a start waits for shards that are away. */
const maxAwayWaitMs = 2_000;

/**
 * One queue of settlements for each shard of the database, so that a batch never spans two of them
 * and a shard that is away delays its own accounts only. Plain PostgreSQL is one shard.
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

  /** Whether the last attempt for this account's shard failed: it is away. */
  isFailingFor(accountId: number): boolean {
    return this.#settlers.get(this.#parts.database.shards.of(accountId))?.isFailing ?? false;
  }

  /** See `Settler`. */
  push(row: SettlementRow, listener: SettlementListener, isLeftover = false): void {
    const shard = this.#parts.database.shards.of(row.accountId);
    let settler = this.#settlers.get(shard);
    if (settler === undefined) {
      settler = new Settler(this.#parts);
      this.#settlers.set(shard, settler);
    }
    settler.push(row, listener, isLeftover);
  }

  /** The commit of what is queued for this account is awaited. */
  hasten(accountId: number): void {
    this.#settlers.get(this.#parts.database.shards.of(accountId))?.hasten();
  }

  /** See `Settler`. */
  replace(uuid: string, row: SettlementRow): boolean {
    // The shards may have changed since it was queued.
    for (const settler of this.#settlers.values()) if (settler.replace(uuid, row)) return true;
    return false;
  }

  /** Resolves when everything pushed so far is committed or set aside. */
  async drained(): Promise<void> {
    await Promise.all([...this.#settlers.values()].map((settler) => settler.drained()));
  }

  /**
   * The same, but of several shards it does not wait for those that are away after two seconds. Reads
   * of their accounts fail until they are settled.
   */
  async drainedWhereReached(): Promise<void> {
    const { database, clock, log } = this.#parts;
    const shards = [...this.#settlers].map(([shard, settler]) => {
      const queue = { shard, settler, isDrained: false, drained: Promise.resolve() };
      queue.drained = settler.drained().then(() => {
        queue.isDrained = true;
      });
      return queue;
    });
    const all = Promise.all(shards.map(({ drained }) => drained)).then(() => true);
    if (database.shards.count === 1) await all;
    else {
      const isAway = (): boolean => shards.every(({ isDrained, settler }) => isDrained || settler.isFailing);
      while (!(await within(clock, maxAwayWaitMs, all, false)) && !isAway());
    }
    for (const { shard, settler, isDrained, drained } of shards) {
      if (isDrained) continue;
      log.warn('recovery_waits_for_shard', { shard: shard + 1, settlements: settler.backlog });
      void database.holdReads(shard, drained);
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
