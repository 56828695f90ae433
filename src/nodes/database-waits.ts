import { type Refusal, refuse } from '../errors/catalogue.ts';
import { messages } from '../errors/messages.ts';
import type { Log } from '../log/log.ts';
import { DatabaseAway, isConnectionLoss } from '../store/connection.ts';
import type { Clock } from '../time/clock.ts';

/** When a client should try again, seconds. */
const retryAfterSec = 2;
const logEveryMs = 1_000;

/** What `DatabaseWaits` needs. */
export interface DatabaseWaitsParts {
  readonly clock: Clock;
  readonly log: Log;
  /** Whether the database, or the server of it that has the account, is away; null: of no account. */
  readonly isAway: (accountId: number | null) => boolean;
}

interface Waiting {
  readonly accountId: number | null;
  readonly refuse: () => void;
}

/**
 * The requests that wait for the database. Each is refused with `500 server` as soon as what it
 * waits for is away (spec:errors/11.1); what was begun for it may still happen.
 */
export class DatabaseWaits {
  readonly #parts: DatabaseWaitsParts;
  readonly #waiting = new Set<Waiting>();
  #refused = 0;
  #logged = 0;
  #loggedMs = Number.NEGATIVE_INFINITY;

  constructor(parts: DatabaseWaitsParts) {
    this.#parts = parts;
  }

  /** How many requests were refused because the database was away. */
  get refused(): number {
    return this.#refused;
  }

  /** The outcome of work for a request; rejects with the refusal when the database is away. */
  async until<T>(accountId: number | null, work: Promise<T>): Promise<T> {
    const away = Promise.withResolvers<never>();
    const waiting = { accountId, refuse: () => away.reject(new DatabaseAway()) };
    this.#waiting.add(waiting);
    if (this.#parts.isAway(accountId)) waiting.refuse();
    try {
      return await Promise.race([work, away.promise]);
    } catch (error) {
      throw isConnectionLoss(error) ? this.#refusal() : error;
    } finally {
      this.#waiting.delete(waiting);
    }
  }

  /** To be called when the database, or a server of it, was found to be away. */
  check(): void {
    for (const { accountId, refuse: end } of this.#waiting) if (this.#parts.isAway(accountId)) end();
  }

  #refusal(): Refusal {
    const { clock, log } = this.#parts;
    this.#refused += 1;
    const nowMs = clock.monotonic();
    if (nowMs - this.#loggedMs >= logEveryMs) {
      log.error('database_away', { refused: this.#refused - this.#logged });
      this.#logged = this.#refused;
      this.#loggedMs = nowMs;
    }
    return refuse('database_away', messages.databaseAway(), { retry_after_sec: retryAfterSec });
  }
}
