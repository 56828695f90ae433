import type { Client } from 'pg';
import { describeError, type Log } from '../log/log.ts';
import {
  type Change,
  changeChannel,
  changesAfter,
  changesKeptMs,
  lookedBack,
  type SeenChanges,
} from '../store/changes.ts';
import { disconnect } from '../store/connection.ts';
import type { Clock } from '../time/clock.ts';

/** Changes are announced where the database can announce, and asked for this often everywhere. */
const pollEveryMs = 250;
/** Memory older than this is not trusted: another node may have revoked a key meanwhile. */
const staleAfterMs = 1_000;
/**
 * How long a request waits for the database to come back before it is told that it is away: so many times so many milliseconds in
 * which this process could have read an answer. One that was blocked for a while has waited for itself, not for the database.
 */
const patienceTicks = 20;
const patienceTickMs = 250;
const reconnectEveryMs = 100;
/** A look takes a millisecond. After this long nothing will answer, and another connection may: memory is stale meanwhile. */
const answerWithinMs = 3_000;

/** What a change feed is made of. */
export interface ChangeFeedParts {
  /** Opens a connection of the feed's own, on which nothing may take longer than the limit. */
  readonly connect: (limitMs: number) => Promise<Client>;
  readonly clock: Clock;
  readonly log: Log;
  /** What memory knows of: from before anything was read into it. */
  readonly since: SeenChanges;
  /** Makes changes true in memory, at most a thousand; may be called twice for one change. */
  readonly onChanges: (changes: readonly Change[]) => Promise<void>;
}

/** A request that waits until memory is what it was in the database at the request's time, or later. */
interface Waiting {
  readonly sinceMs: number;
  readonly resolve: () => void;
}

/** Keeps this process's memory of keys and accounts true to what other processes change (effective within a second). */
export class ChangeFeed {
  readonly #parts: ChangeFeedParts;
  #client: Client | null = null;
  #seen: SeenChanges;
  #currentMs = Number.NEGATIVE_INFINITY;
  #pollAgain = false;
  #polling = false;
  #closed = false;
  #isLost = false;
  readonly #waiting = new Set<Waiting>();

  private constructor(parts: ChangeFeedParts) {
    this.#parts = parts;
    this.#seen = parts.since;
  }

  /** Follows changes from `since` on; rejects when the database is not there. */
  static async start(parts: ChangeFeedParts): Promise<ChangeFeed> {
    const feed = new ChangeFeed(parts);
    feed.#client = await feed.#connect();
    await feed.#poll();
    void feed.#run();
    return feed;
  }

  /** Whether memory is current: the database answered within the last second. */
  get isFresh(): boolean {
    return this.#parts.clock.monotonic() - this.#currentMs <= staleAfterMs;
  }

  /** Undefined when memory is current; otherwise resolves once it is, or rejects after 5 s: the database is away (spec:errors/11.1). */
  fresh(): Promise<void> | undefined {
    if (this.isFresh) return undefined;
    const { clock } = this.#parts;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = { sinceMs: clock.monotonic(), resolve };
    let ticks = 0;
    const tick = (): void => {
      ticks += 1;
      if (ticks >= patienceTicks) reject(new Error('the database is away'));
      else timer = clock.after(patienceTickMs, tick);
    };
    let timer = clock.after(patienceTickMs, tick);
    this.#waiting.add(waiting);
    return promise.finally(() => {
      timer.cancel();
      this.#waiting.delete(waiting);
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#client !== null) await disconnect(this.#client);
  }

  async #run(): Promise<void> {
    while (!this.#closed) {
      await new Promise<void>((resolve) =>
        this.#parts.clock.after(this.#client === null ? reconnectEveryMs : pollEveryMs, resolve),
      );
      if (!this.#closed) await this.#poll();
    }
  }

  async #connect(): Promise<Client> {
    const client = await this.#parts.connect(answerWithinMs);
    // What is announced before the client is the feed's own is found by the look that follows; a look now would open another client.
    client.on('notification', () => {
      if (this.#client === client) void this.#poll();
    });
    try {
      await client.query(`LISTEN ${changeChannel}`);
    } catch (error) {
      await disconnect(client);
      throw error;
    }
    if (!this.#closed) return client;
    await disconnect(client);
    throw new Error('the change feed is closed');
  }

  /** One look for changes. A look asked for during another follows it. Never throws. */
  async #poll(): Promise<void> {
    this.#pollAgain = true;
    if (this.#polling) return;
    this.#polling = true;
    try {
      while (this.#pollAgain && !this.#closed) {
        this.#pollAgain = false;
        await this.#look();
      }
    } catch (error) {
      if (!this.#closed && !this.#isLost)
        this.#parts.log.warn('change_feed_lost', { detail: describeError(error) });
      this.#isLost = true;
      const client = this.#client;
      this.#client = null;
      if (client !== null) await disconnect(client);
    } finally {
      this.#polling = false;
    }
  }

  async #look(): Promise<void> {
    const readAtMs = this.#parts.clock.monotonic();
    if (readAtMs - this.#currentMs > changesKeptMs / 2 && this.#currentMs > Number.NEGATIVE_INFINITY)
      throw new Error('changes may be lost: there was no database for days; start Naru anew');
    if (this.#client === null) {
      this.#client = await this.#connect();
      this.#seen = lookedBack(this.#seen);
    }
    this.#seen = await this.#take(this.#client);
    this.#currentMs = readAtMs;
    if (this.#isLost) this.#parts.log.info('change_feed_found');
    this.#isLost = false;
    // However long the answer took: it is true of a time after whoever waited when it was asked for. For others it may not be.
    for (const waiting of this.#waiting) if (waiting.sinceMs <= readAtMs || this.isFresh) waiting.resolve();
    if (!this.isFresh) this.#pollAgain = true;
  }

  /** Makes true whatever was not seen yet, and answers what is seen then: what committed when the first page was read. */
  async #take(client: Client): Promise<SeenChanges> {
    let afterId = 0;
    let seen: SeenChanges | undefined;
    for (;;) {
      const page = await changesAfter(client, this.#seen, afterId);
      seen ??= page.seen;
      if (page.changes.length > 0) await this.#parts.onChanges(page.changes);
      afterId = page.changes.at(-1)?.id ?? afterId;
      if (page.isLast) return seen;
    }
  }
}
