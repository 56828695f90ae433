import type { Database } from '../store/database.ts';
import type { HistoryWatch } from '../store/history-watch.ts';
import { readReplication } from '../store/replication.ts';
import { type Clock, pause } from '../time/clock.ts';
import type { Journal } from './journal/journal.ts';
import type { Retention } from './segment-retention.ts';

/** What `KeptSegments` needs. */
export interface KeptSegmentsParts {
  readonly database: Database;
  readonly journal: Pick<Journal, 'kept' | 'forget' | 'expire'>;
  readonly retention: Retention;
  readonly clock: Clock;
  /** Compares each reading of the server with the earlier ones; null: no comparison. */
  readonly watch: HistoryWatch | null;
}

const lookEveryMs = 50;

/**
 * Keeps the settled segments of a journal until the standbys of the database have their contents
 * (docs/decisions/failover.md). After a failover to a standby that lacks some of it, the next start
 * settles them again.
 */
export class KeptSegments {
  readonly #parts: KeptSegmentsParts;
  #lookedMs: number;

  constructor(parts: KeptSegmentsParts) {
    this.#parts = parts;
    this.#lookedMs = parts.clock.monotonic();
  }

  /**
   * Reads how far the standbys are and deletes the segments that they have. Rejects when the
   * database is away, and with `HistoryChanged` when it is not the same server; then nothing is
   * deleted.
   */
  async check(): Promise<void> {
    const { database, journal, retention, clock, watch } = this.#parts;
    // Read before the server is queried: a later settlement may be behind the position that it
    // reports.
    const kept = journal.kept;
    const replication = await (watch === null ? readReplication(database) : watch.look(database));
    const nowMs = clock.monotonic();
    const { covered, expired } = retention.classify(kept, replication, nowMs - this.#lookedMs);
    this.#lookedMs = nowMs;
    await journal.forget(covered);
    await journal.expire(expired);
  }

  /**
   * Checks until the standbys have everything, for `limitMs` at most, and not at all where they do
   * not report how far they are. Rejects as `check` does.
   */
  async untilCovered(limitMs: number): Promise<void> {
    const { journal, retention, clock } = this.#parts;
    const endMs = clock.monotonic() + limitMs;
    while (journal.kept.length > 0) {
      await this.check();
      if (!retention.isFollowed || clock.monotonic() >= endMs) return;
      await pause(clock, lookEveryMs, new AbortController().signal);
    }
  }
}
