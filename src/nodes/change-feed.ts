import type { Client } from 'pg';
import { describeError, type Log } from '../log/log.ts';
import {
  type Change,
  changesAfter,
  changesKeptMs,
  listenForChanges,
  lookedBack,
  type SeenChanges,
} from '../store/changes.ts';
import { DatabaseAway, disconnect } from '../store/connection.ts';
import type { Clock, Timer } from '../time/clock.ts';

/** Changes are announced where the database can announce, and polled this often everywhere. */
const pollEveryMs = 250;
/**
 * The interval while no request uses memory and the connection is known to receive announcements:
 * an idle server should cost little, and a request must still find memory that is not stale.
 */
const idlePollEveryMs = 500;
/** Memory older than this is not used: another node may have revoked a key meanwhile. */
const staleAfterMs = 1_000;
/**
 * A poll without a response for this many ticks, each begun when the one before was noticed, is
 * failing: however slow a turn of the event loop is, that many turns read what has arrived.
 */
const maxTicks = 20;
const tickMs = 50;
const reconnectEveryMs = 100;
/**
 * A poll takes a millisecond. After this long there will be no response on this connection, but
 * perhaps on another; memory is stale meanwhile.
 */
const responseTimeoutMs = 3_000;

/** What `ChangeFeed` needs. */
export interface ChangeFeedParts {
  /** Opens a connection for the feed, on which no statement may take longer than the limit. */
  readonly connect: (limitMs: number) => Promise<Client>;
  readonly clock: Clock;
  readonly log: Log;
  /** The changes that memory has: read before anything was read into it. */
  readonly since: SeenChanges;
  /** Applies changes to memory, at most a thousand; may be called twice for one change. */
  readonly onChanges: (changes: readonly Change[]) => Promise<void>;
  /** Whether the database has another history than memory: then memory never becomes current. */
  readonly hasHistoryChanged: () => boolean;
  /** Called when the database is away: what waits for it must wait no longer. */
  readonly onAway: () => void;
}

/**
 * A request that waits until memory has the state of the database at the request's time, or later.
 */
interface Waiting {
  readonly sinceMs: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * Applies changes that other processes make to keys and accounts to this process's memory, within a
 * second.
 */
export class ChangeFeed {
  readonly #parts: ChangeFeedParts;
  #client: Client | null = null;
  #seen: SeenChanges;
  #currentMs = Number.NEGATIVE_INFINITY;
  #pollAgain = false;
  #polling = false;
  #closed = false;
  #isLost = false;
  /** Whether this feed's connection has received an announcement. */
  #isAnnounced = false;
  #isUsed = false;
  /** Whether the last poll failed, or has no response yet. */
  #isFailing = false;
  #staleTimer: Timer | null = null;
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

  /** Whether memory is current: the database responded within the last second. */
  get isFresh(): boolean {
    return this.#parts.clock.monotonic() - this.#currentMs <= staleAfterMs;
  }

  /** Whether memory is too old to be used, and the database does not respond (spec:errors/11.1). */
  get isAway(): boolean {
    return !this.isFresh && (this.#isFailing || this.#parts.hasHistoryChanged());
  }

  /**
   * Undefined when memory is current. Otherwise this process was busy, or the database is away: waits
   * until it is known which, and rejects when it is away.
   */
  fresh(): Promise<void> | undefined {
    this.#isUsed = true;
    if (this.isFresh) return undefined;
    if (this.isAway) return Promise.reject(new DatabaseAway());
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = { sinceMs: this.#parts.clock.monotonic(), resolve, reject };
    this.#waiting.add(waiting);
    return promise.finally(() => this.#waiting.delete(waiting));
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#staleTimer?.cancel();
    if (this.#client !== null) await disconnect(this.#client);
  }

  async #run(): Promise<void> {
    while (!this.#closed) {
      await new Promise<void>((resolve) => this.#parts.clock.after(this.#pauseMs(), resolve));
      if (!this.#closed) await this.#poll();
    }
  }

  #pauseMs(): number {
    if (this.#client === null) return reconnectEveryMs;
    const isIdle = this.#isAnnounced && !this.#isUsed;
    this.#isUsed = false;
    return isIdle ? idlePollEveryMs : pollEveryMs;
  }

  async #connect(): Promise<Client> {
    const client = await this.#parts.connect(responseTimeoutMs);
    // A change that is announced before `#client` is set is found by the next poll; a poll now
    // would open another client.
    client.on('notification', () => {
      this.#isAnnounced = true;
      if (this.#client === client) void this.#poll();
    });
    this.#isAnnounced = false;
    try {
      await listenForChanges(client);
    } catch (error) {
      await disconnect(client);
      throw error;
    }
    if (!this.#closed) return client;
    await disconnect(client);
    throw new Error('the change feed is closed');
  }

  /** Polls once. A poll that is requested during another follows it. Never throws. */
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
      this.#fail();
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
      throw new Error('changes may be lost: the database was unavailable for days; restart Naru');
    if (this.#client === null) {
      this.#client = await this.#respondsSoon(this.#connect());
      this.#seen = lookedBack(this.#seen);
    }
    this.#seen = await this.#take(this.#client);
    this.#currentMs = readAtMs;
    this.#isFailing = false;
    this.#staleTimer?.cancel();
    if (this.#isLost) this.#parts.log.info('change_feed_found');
    this.#isLost = false;
    // However long the poll took: its result is newer than the requests that waited before it
    // began, and for later ones only if it is fresh.
    for (const waiting of this.#waiting) if (waiting.sinceMs <= readAtMs || this.isFresh) waiting.resolve();
    if (!this.isFresh) this.#pollAgain = true;
  }

  /**
   * Applies every change that was not seen yet, and returns what is seen then: what had committed
   * when the first page was read.
   */
  async #take(client: Client): Promise<SeenChanges> {
    let afterId = 0;
    let seen: SeenChanges | undefined;
    for (;;) {
      const page = await this.#respondsSoon(changesAfter(client, this.#seen, afterId));
      seen ??= page.seen;
      if (page.changes.length > 0) await this.#respondsSoon(this.#parts.onChanges(page.changes));
      afterId = page.changes.at(-1)?.id ?? afterId;
      if (page.isLast) return seen;
    }
  }

  /** The outcome of work with the database; the poll is failing while that takes too long. */
  async #respondsSoon<T>(work: Promise<T>): Promise<T> {
    const { clock } = this.#parts;
    const wait = (ticks: number): Timer =>
      clock.after(tickMs, () => {
        if (ticks > 1) timer = wait(ticks - 1);
        else this.#fail();
      });
    let timer = wait(maxTicks);
    try {
      return await work;
    } finally {
      timer.cancel();
    }
  }

  /** The database is away from now on, or once memory is too old. */
  #fail(): void {
    const { clock } = this.#parts;
    const onAway = (): void => {
      for (const { reject } of this.#waiting) reject(new DatabaseAway());
      this.#parts.onAway();
    };
    this.#isFailing = true;
    this.#staleTimer?.cancel();
    if (this.#closed) return;
    const leftMs = this.#currentMs + staleAfterMs - clock.monotonic();
    if (leftMs < 0) onAway();
    else this.#staleTimer = clock.after(leftMs + 1, onAway);
  }
}
