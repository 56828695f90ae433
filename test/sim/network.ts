import type { Client, Pool } from 'pg';
import type { DatabaseMeans } from '../../src/store/database.ts';
import { execute, type Step } from './model/step.ts';
import { ServerError, type Store, type Transaction } from './model/transactions.ts';
import type { SimProcess } from './process.ts';
import type { Random } from './random.ts';
import type { Timeline } from './time.ts';

/**
 * How a host reaches the database. Cut: callers get an error. Silent: no message arrives until it
 * is over.
 */
export class Link {
  cutUntilMs = 0;
  silentUntilMs = 0;
  /** The maximum delay of a message. */
  slowMs = 2;
  /** Since when it works; later than now while it is faulty. */
  calmSinceMs = 0;
}

/** What the simulation learns about the database's server, and may decide. */
export interface ServerWatch {
  /**
   * Called before a commit, which may change nothing. `lost`: the connection breaks instead;
   * `unanswered`: it is committed, then the connection breaks.
   */
  fateOfCommit(
    process: SimProcess,
    batch: readonly string[],
    isWorth: boolean,
  ): 'delivered' | 'lost' | 'unanswered';
  /** A transaction is committed; `batch` are the generations that it settled, or found settled. */
  onCommit(tx: Transaction, process: SimProcess, batch: readonly string[]): void;
  /** A process has read that a batch of settlements is in the database. */
  onNotified(process: SimProcess, batch: readonly string[]): void;
  onRefused(process: SimProcess, error: ServerError): void;
}

/** The text of what a connection itself understands, or a step of a function of the store. */
type Sent = string | Step;

const connectTimeoutMs = 5_000;

function lost(): Error {
  return new Error('Connection terminated unexpectedly');
}

/** The database's server and the network before it. */
export class SimServer {
  readonly store: Store;
  readonly timeline: Timeline;
  readonly random: Random;
  readonly watch: ServerWatch;
  readonly sessions = new Set<Session>();
  downUntilMs = 0;

  constructor(parts: {
    readonly store: Store;
    readonly timeline: Timeline;
    readonly random: Random;
    readonly watch: ServerWatch;
  }) {
    this.store = parts.store;
    this.timeline = parts.timeline;
    this.random = parts.random;
    this.watch = parts.watch;
  }

  /** The server stops at once; what was not committed is gone. */
  stop(forMs: number): void {
    this.downUntilMs = this.timeline.nowMs + forMs;
    for (const session of [...this.sessions]) session.break();
  }

  /** How a process on a machine with this link reaches the database. */
  meansOf(process: SimProcess, link: Link): DatabaseMeans {
    const open = (): Promise<Session> => this.#open(process, link);
    return {
      clock: process.clock,
      connect: async () => (await open()) as unknown as Client,
      openPool: () => new SimPool(open) as unknown as Pool,
    };
  }

  async #open(process: SimProcess, link: Link): Promise<Session> {
    const { timeline } = this;
    const never = new Promise<never>(() => {});
    if (!process.isAlive) return never;
    const silentMs = link.silentUntilMs - timeline.nowMs;
    await timeline.pause(
      silentMs > 0 ? Math.min(silentMs, connectTimeoutMs) : this.random.unit() * link.slowMs,
    );
    if (!process.isAlive) return never;
    if (silentMs >= connectTimeoutMs) throw new Error('timeout expired');
    if (link.cutUntilMs > timeline.nowMs)
      throw Object.assign(new Error('connect EHOSTUNREACH'), { code: 'ECONNREFUSED' });
    if (this.downUntilMs > timeline.nowMs)
      throw new ServerError('57P03', 'the database system is starting up');
    return new Session(this, process, link);
  }
}

/** One connection, at both of its ends. */
export class Session {
  readonly #server: SimServer;
  readonly process: SimProcess;
  readonly link: Link;
  #tx: Transaction | null = null;
  #broken = false;
  #turn: Promise<unknown> = Promise.resolve();
  /** The generations of the current settlement. */
  #batch: readonly string[] = [];
  readonly #breaking = Promise.withResolvers<never>();
  readonly #listeners: ((notice: unknown) => void)[] = [];
  #listens = false;

  constructor(server: SimServer, process: SimProcess, link: Link) {
    this.#server = server;
    this.process = process;
    this.link = link;
    server.sessions.add(this);
    this.#breaking.promise.catch(() => {});
    // The server notices after a while that the client is gone; until then it keeps the locks.
    process.whenDead(() => server.timeline.after(server.random.unit() * 50, () => this.break()));
  }

  get listens(): boolean {
    return this.#listens;
  }

  get isOpen(): boolean {
    return !this.#broken;
  }

  on(event: string, listener: (notice: unknown) => void): this {
    if (event === 'notification') this.#listeners.push(listener);
    return this;
  }

  /** The connection is gone, and with it everything uncommitted. */
  break(): void {
    if (this.#broken) return;
    this.#broken = true;
    this.#server.sessions.delete(this);
    this.#tx?.rollback();
    this.#tx = null;
    this.#breaking.reject(lost());
  }

  query(sent: Sent): Promise<{ readonly rows: unknown }> {
    const response = this.#turn.then(() => this.#query(sent));
    this.#turn = response.catch(() => {});
    return response;
  }

  async end(): Promise<void> {
    await this.#turn;
    if (!this.#broken) await this.#travel();
    this.break();
  }

  release(destroy = false): void {
    if (destroy) this.break();
    else this.onRelease?.();
  }

  /** Set by the pool that it belongs to. */
  onRelease: (() => void) | null = null;

  notify(payload: string): void {
    const { timeline, random } = this.#server;
    const delayMs = Math.max(0, this.link.silentUntilMs - timeline.nowMs) + random.unit() * this.link.slowMs;
    timeline.after(delayMs, () => {
      if (this.#broken || !this.process.isAlive) return;
      for (const listener of this.#listeners) listener({ payload });
    });
  }

  async #query(sent: Sent): Promise<{ readonly rows: unknown }> {
    const never = new Promise<never>(() => {});
    if (!this.process.isAlive) return never;
    if (this.#broken) throw lost();
    const result = this.#exchange(sent);
    result.catch(() => {});
    try {
      const rows = await Promise.race([result, this.#breaking.promise]);
      return this.process.isAlive ? { rows } : never;
    } catch (error) {
      if (!this.process.isAlive) return never;
      throw error;
    }
  }

  async #exchange(sent: Sent): Promise<unknown> {
    await this.#travel();
    if (this.#broken) throw lost();
    const rows = await this.#run(sent);
    await this.#travel();
    if (this.#broken) throw lost();
    if (sent === 'COMMIT' && this.process.isAlive) {
      this.#server.watch.onNotified(this.process, this.#batch);
      this.#batch = [];
    }
    return rows;
  }

  async #travel(): Promise<void> {
    const { timeline, random } = this.#server;
    await timeline.pause(random.unit() * this.link.slowMs);
    while (this.link.silentUntilMs > timeline.nowMs && !this.#broken)
      await timeline.pause(this.link.silentUntilMs - timeline.nowMs + random.unit());
    if (this.link.cutUntilMs > timeline.nowMs) this.break();
  }

  async #run(sent: Sent): Promise<unknown> {
    const { store, watch } = this.#server;
    // How a connection is set up changes nothing here.
    if (typeof sent === 'string' && sent.includes('set_config')) return [];
    if (sent === 'LISTEN') {
      this.#listens = true;
      return [];
    }
    if (sent === 'BEGIN') {
      this.#tx = store.begin();
      this.#batch = [];
      return [];
    }
    if (sent === 'ROLLBACK') {
      this.#tx?.rollback();
      this.#tx = null;
      return [];
    }
    if (sent === 'COMMIT') {
      const open = this.#tx;
      this.#tx = null;
      return open === null ? [] : this.#commit(open);
    }
    const open = this.#tx;
    const tx = open ?? store.begin();
    try {
      if (typeof sent !== 'string' && sent.batch !== undefined) this.#batch = sent.batch;
      const rows = await execute(tx, sent);
      // A single statement is its own transaction; one whose transaction ended with its connection
      // meanwhile is not.
      return open === null ? this.#commit(tx, rows) : rows;
    } catch (error) {
      if (open === null) tx.rollback();
      if (error instanceof ServerError && !this.#broken) watch.onRefused(this.process, error);
      throw error;
    }
  }

  #commit(tx: Transaction, rows: unknown = []): unknown {
    const { watch } = this.#server;
    const isWorth = !tx.failed && tx.written.size > 0;
    const fate = watch.fateOfCommit(this.process, this.#batch, isWorth);
    // The process may have died during the statement; what reached the server is done all the same.
    if (fate === 'lost' || tx.failed) tx.rollback();
    else this.#finish(tx);
    if (fate === 'delivered') return rows;
    this.break();
    throw lost();
  }

  #finish(tx: Transaction): void {
    const notices = tx.commit();
    this.#server.watch.onCommit(tx, this.process, this.#batch);
    for (const payload of notices)
      for (const session of this.#server.sessions) if (session.listens) session.notify(payload);
  }
}

/** The pool of a process: as many connections as are requested concurrently. */
class SimPool {
  readonly #open: () => Promise<Session>;
  readonly #idle: Session[] = [];
  #ended = false;

  constructor(open: () => Promise<Session>) {
    this.#open = open;
  }

  async connect(): Promise<Session> {
    if (this.#ended) throw new Error('Cannot use a pool after calling end on the pool');
    for (;;) {
      const idle = this.#idle.pop();
      if (idle === undefined) break;
      if (idle.isOpen) return idle;
    }
    const session = await this.#open();
    session.onRelease = () => {
      if (this.#ended) void session.end();
      else this.#idle.push(session);
    };
    return session;
  }

  async query(sent: Sent): Promise<{ readonly rows: unknown }> {
    const session = await this.connect();
    try {
      const result = await session.query(sent);
      session.release();
      return result;
    } catch (error) {
      session.release(true);
      throw error;
    }
  }

  async end(): Promise<void> {
    this.#ended = true;
    await Promise.all(this.#idle.splice(0).map((session) => session.end()));
  }
}
