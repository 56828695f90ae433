import type { Log } from '../log/log.ts';
import { type Clock, type FollowingClock, maxClockSkewMs, type Timer } from '../time/clock.ts';
import { readServerTime } from './server-time.ts';
import type { Sql } from './sql.ts';

const followEveryMs = 10_000;

/**
 * The time of the database, which all nodes and commands share: everything that is stored, or
 * compared with what another process stored, is dated by it (spec:money/7.8). It is the machine's
 * monotonic time with a measured offset, so a civil clock that is wrong, or set, changes nothing.
 */
export class DatabaseClock implements FollowingClock {
  readonly #database: Sql;
  readonly #machine: Clock;
  /** The database's time at the zero of the machine's monotonic time. */
  #offsetMs = Number.NaN;
  #timer: Timer | null = null;
  #isClosed = false;
  #isReported = false;

  private constructor(database: Sql, machine: Clock) {
    this.#database = database;
    this.#machine = machine;
  }

  /** Reads the time of the database. Rejects when that is away. */
  static async open(database: Sql, machine: Clock): Promise<DatabaseClock> {
    const clock = new DatabaseClock(database, machine);
    // The first query opens the connection; the second is as short as a query can be.
    await clock.measure();
    await clock.measure();
    return clock;
  }

  now(): number {
    return Math.floor(this.#machine.monotonic() + this.#offsetMs);
  }

  monotonic(): number {
    return this.#machine.monotonic();
  }

  after(delayMs: number, task: () => void): Timer {
    return this.#machine.after(delayMs, task);
  }

  get aheadMs(): number {
    return this.#machine.now() - this.now();
  }

  /** Reads the time of the database again. Rejects when that is away. */
  async measure(): Promise<void> {
    const beforeMs = this.#machine.monotonic();
    const serverMs = await readServerTime(this.#database);
    const afterMs = this.#machine.monotonic();
    // The server read its clock somewhere in between: only an offset beyond that is wrong, so that a
    // slow query moves nothing.
    const [least, most] = [serverMs - afterMs, serverMs + 1 - beforeMs];
    const known = Number.isNaN(this.#offsetMs) ? (least + most) / 2 : this.#offsetMs;
    this.#offsetMs = Math.min(Math.max(known, least), most);
  }

  /**
   * Reads the time of the database regularly until `close`; while that is away, the last offset
   * stays. Logs a warning when the machine's clock first differs by more than a second.
   */
  follow(log: Log): void {
    this.#report(log);
    this.#timer = this.#machine.after(followEveryMs, () => {
      void this.measure()
        .catch(() => {})
        .then(() => {
          if (!this.#isClosed) this.follow(log);
        });
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  #report(log: Log): void {
    const isOff = Math.abs(this.aheadMs) > maxClockSkewMs;
    if (isOff && !this.#isReported)
      log.warn('clock_skew', {
        ahead_ms: Math.round(this.aheadMs),
        detail: 'the clock of this node differs from that of the database: set both by NTP',
      });
    this.#isReported = isOff;
  }
}
