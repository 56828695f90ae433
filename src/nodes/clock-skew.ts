import type { Log } from '../log/log.ts';
import type { Database } from '../store/database.ts';
import { readServerTime } from '../store/server-time.ts';
import type { Clock } from '../time/clock.ts';

/** A clock that differs by more than this is reported. */
export const maxClockSkewMs = 1_000;

/**
 * How far the clock of this node is ahead of that of the database, milliseconds; below zero when it
 * is behind. Rejects when the database is away.
 */
export async function measureClockSkew(database: Database, clock: Clock): Promise<number> {
  const beforeMs = clock.now();
  const serverMs = await readServerTime(database);
  const afterMs = clock.now();
  // The server read its clock somewhere in between: only a difference beyond that is skew.
  return serverMs < beforeMs ? beforeMs - serverMs : serverMs > afterMs ? afterMs - serverMs : 0;
}

/** How far the clock of this node is ahead of that of the database, which all nodes share. */
export class ClockSkew {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #log: Log;
  #aheadMs = 0;
  #isReported = false;

  constructor(parts: { readonly database: Database; readonly clock: Clock; readonly log: Log }) {
    this.#database = parts.database;
    this.#clock = parts.clock;
    this.#log = parts.log;
  }

  /** The last measurement, milliseconds; below zero when this node is behind. */
  get aheadMs(): number {
    return this.#aheadMs;
  }

  /**
   * Measures the skew; logs a warning when it first exceeds a second. Rejects when the database is
   * away.
   */
  async measure(): Promise<void> {
    this.#aheadMs = await measureClockSkew(this.#database, this.#clock);
    const isOff = Math.abs(this.#aheadMs) > maxClockSkewMs;
    if (isOff && !this.#isReported)
      this.#log.warn('clock_skew', {
        ahead_ms: Math.round(this.#aheadMs),
        detail: 'the clock of this node differs from that of the database: set both by NTP',
      });
    this.#isReported = isOff;
  }
}
