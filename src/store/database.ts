import { type Client, Pool, type PoolClient, type QueryResultRow } from 'pg';
import { OutcomeUnknown } from '../errors/outcome-unknown.ts';
import { type Clock, systemClock } from '../time/clock.ts';
import { ClientWithTimeout } from './client-with-timeout.ts';
import {
  clientConfig,
  connect,
  type DatabaseAddress,
  DatabaseAway,
  disconnect,
  isConflict,
  isConnectionLoss,
  isFromServer,
  isOutOfConnections,
  isReadOnly,
  isSilence,
  setDurable,
  statementTimeoutMs,
} from './connection.ts';
import { SerialConnection } from './serial-connection.ts';
import { type Lane, ShardLanes } from './shard-lanes.ts';
import {
  isSamePlacement,
  nameOf,
  oneShard,
  readShards,
  type ServerWithShards,
  type Shards,
} from './shards.ts';
import { type Sql, sqlOver } from './sql.ts';

/** How long a read is retried after its connection was lost, milliseconds. */
const retryForMs = 1_000;
const retryEveryMs = 50;
/** How long the connections of a pool may take to close. */
const closeTimeoutMs = 2_000;
const probeWithinMs = 1_000;

/** How the database is reached, and the clock that measures its absence. */
export interface DatabaseMeans {
  readonly clock: Clock;
  /** Opens one connection; rejects when the server is not there within 5 s. */
  readonly connect: (address: DatabaseAddress, limitMs: number | null) => Promise<Client>;
  readonly openPool: (
    address: DatabaseAddress,
    size: number,
    limitMs: number | null,
  ) => Pick<Pool, 'connect' | 'query' | 'end'>;
}

/** The database of the address, and the machine's clock. */
export const systemMeans: DatabaseMeans = {
  clock: systemClock,
  connect,
  openPool(address, size, limitMs) {
    const pool = new Pool({
      ...clientConfig(address, limitMs),
      Client: ClientWithTimeout,
      max: size,
      idleTimeoutMillis: 30_000,
      onConnect: setDurable,
    });
    pool.on('error', () => {});
    // The pool listens only while a connection is idle: a loss inside a transaction would end the
    // process.
    pool.on('connect', (client) => client.on('error', () => {}));
    return pool;
  },
};

/** The database as the rooms use it. */
export class Database implements Sql {
  readonly address: DatabaseAddress;
  readonly #means: DatabaseMeans;
  readonly #pool: ReturnType<DatabaseMeans['openPool']>;
  /**
   * The one connection on which settlements and re-reads of money run in order, where nothing is
   * distributed: see `orderedFor`.
   */
  readonly serial: SerialConnection;
  #shards = oneShard;
  readonly #lanes: ShardLanes;
  /** Shards whose accounts are not read: settlements of an earlier process come first. */
  readonly #held = new Set<number>();
  #serialCheck: (sql: Sql) => Promise<unknown> = async () => {};

  /**
   * `limitMs` bounds every statement of the pool (see `clientConfig`): set for the serving process,
   * not for the verification of a ledger of any size. Statements of the serial connection are
   * small, and always bounded.
   */
  constructor(
    address: DatabaseAddress,
    poolSize = 8,
    limitMs: number | null = null,
    means: DatabaseMeans = systemMeans,
  ) {
    this.address = address;
    this.#means = means;
    this.#pool = means.openPool(address, poolSize, limitMs);
    const open = (): SerialConnection => new SerialConnection(() => this.#connectSerial());
    this.serial = open();
    this.#lanes = new ShardLanes({ ...means, address, query: (...read) => this.query(...read), open });
  }

  /**
   * Runs `check` on every further connection of the serial connection before it is used; one on
   * which it rejects is not used.
   */
  checkSerial(check: (sql: Sql) => Promise<unknown>): void {
    this.#serialCheck = check;
  }

  /** Which accounts are stored together, as of the last `readShards`. */
  get shards(): Shards {
    return this.#shards;
  }

  /**
   * Reads which accounts are stored together: an operator may distribute them or move shards. Looks
   * which of the servers that have them are reached from here.
   */
  async readShards(): Promise<void> {
    const shards = await readShards(this);
    await this.#lanes.openFor(shards);
    const isMoved = this.#shards.count > 1 && !isSamePlacement(shards, this.#shards);
    this.#shards = shards;
    if (!isMoved) return;
    // An account that has another connection from now on is not read there before its settlements
    // that are under way.
    const earlier = Promise.all(this.orderedConnections.map((each) => each.idle()));
    for (const each of this.orderedConnections) void each.inTurn(() => earlier);
  }

  /** Looks which servers that have shards are away; `serversAway` has them. Never rejects. */
  async lookForServers(): Promise<void> {
    await this.#lanes.look(this.#shards);
    // One that was away when the shards were read may take settlements directly now.
    if (this.#lanes.isIncomplete) await this.#lanes.openFor(this.#shards);
  }

  /** The servers that were away at the last `lookForServers`, with their shards. */
  get serversAway(): readonly ServerWithShards[] {
    return this.#lanes.away;
  }

  /** Whether the server that has the account was away at the last `lookForServers`. */
  isServerAway(accountId: number): boolean {
    const server = this.#shards.serverOf(this.#shards.of(accountId));
    return server !== null && this.serversAway.some((away) => nameOf(away) === nameOf(server));
  }

  /**
   * The connection on which everything about an account runs in order. Accounts of one server share
   * it: a server that is away delays its own accounts only.
   */
  orderedFor(accountId: number): SerialConnection {
    return this.#laneOf(accountId)?.ordered ?? this.serial;
  }

  /** All connections on which accounts are read and settled in order. */
  get orderedConnections(): readonly SerialConnection[] {
    return [this.serial, ...this.#lanes.ordered];
  }

  /** These by the connection on which they run in order. */
  inOrderOf<T>(items: readonly T[], accountOf: (item: T) => number): ReadonlyMap<SerialConnection, T[]> {
    return Map.groupBy(items, (item) => this.orderedFor(accountOf(item)));
  }

  /**
   * Runs `use` in a turn of the account's connection, on a connection to the server that has its
   * shard if that is reached: there the engine needs no second server for it, and no two-phase
   * commit. An error that leaves it in doubt repeats it once in that turn.
   */
  settle<T>(
    accountId: number,
    use: (client: Client) => Promise<T>,
    isInDoubt: (error: unknown) => boolean = () => false,
  ): Promise<T> {
    const { ordered, entry } = this.#laneOf(accountId) ?? { ordered: this.serial, entry: null };
    if (entry === null) return ordered.run((_sql, client) => use(client), isInDoubt);
    return ordered.inTurn(() => entry.run((_sql, client) => use(client), isInDoubt));
  }

  #laneOf(accountId: number): Lane | undefined {
    return this.#lanes.of(this.#shards.serverOf(this.#shards.of(accountId)));
  }

  /** Reads of the accounts of a shard fail until `until` resolves. */
  async holdReads(shard: number, until: Promise<void>): Promise<void> {
    this.#held.add(shard);
    await until;
    this.#held.delete(shard);
  }

  /**
   * Opens one more connection, which the caller closes; rejects when the server is not there within
   * 5 s.
   */
  connect(limitMs: number): Promise<Client> {
    return this.#means.connect(this.address, limitMs);
  }

  /**
   * Tries a new connection; a server that has none left for the moment counts as accepting. Decided
   * within 5 s; never rejects.
   */
  async tryConnection(): Promise<'accepted' | 'refused' | 'no response'> {
    try {
      await disconnect(await this.connect(probeWithinMs));
      return 'accepted';
    } catch (error) {
      if (isOutOfConnections(error)) return 'accepted';
      return isFromServer(error) ? 'refused' : 'no response';
    }
  }

  /** Runs one READ; after a loss of its connection it is retried for up to 1 s. */
  async query<R extends QueryResultRow>(
    text: string,
    values: readonly unknown[] = [],
  ): Promise<readonly R[]> {
    return this.withRetries(async () => (await this.#pool.query<R>(text, [...values])).rows);
  }

  /**
   * Runs READS of an account in a turn of its connection; after a loss of that they are retried for up
   * to 1 s. Null: of no account.
   */
  readInOrder<T>(accountId: number | null, read: (sql: Sql) => Promise<T>): Promise<T> {
    return this.withRetries(() => {
      if (accountId === null) return this.serial.run(read);
      if (this.#held.has(this.#shards.of(accountId)))
        throw new DatabaseAway('settlements of an earlier process wait for the shard of this account');
      return this.orderedFor(accountId).run(read);
    });
  }

  /**
   * Repeats work that lost its connection and has no effect twice, for up to 1 s from then on: it may
   * have waited in line for longer.
   */
  async withRetries<T>(work: () => Promise<T>): Promise<T> {
    const { clock } = this.#means;
    const beganMs = clock.monotonic();
    let lostMs: number | null = null;
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (!isConnectionLoss(error)) throw error;
        // A server that does not respond was lost seconds before that is known.
        lostMs ??= isSilence(error) ? beganMs : clock.monotonic();
        if (clock.monotonic() - lostMs >= retryForMs) throw error;
        await new Promise<void>((resolve) => clock.after(retryEveryMs, resolve));
      }
    }
  }

  /**
   * Runs `work` in one transaction. Waits for a connection while the server restarts. After BEGIN
   * only a conflict with another transaction is retried, never a lost connection. Throws
   * `OutcomeUnknown` when that was lost at the COMMIT.
   */
  async transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      const client = await this.withRetries(() => this.#begin());
      let isCommitting = false;
      try {
        const result = await work(sqlOver(client));
        isCommitting = true;
        await client.query('COMMIT');
        client.release();
        return result;
      } catch (error) {
        await rollBack(client, isReadOnly(error));
        if (isCommitting && isConnectionLoss(error)) throw new OutcomeUnknown(error);
        if (!isConflict(error) || tries === 5) throw error;
      }
    }
  }

  /** Closes every connection. Earlier work of the serial connection is finished first. */
  async close(): Promise<void> {
    await this.serial.close();
    await this.#lanes.close();
    const timeout = Promise.withResolvers<void>();
    const timer = setTimeout(timeout.resolve, closeTimeoutMs);
    // Without a response an idle connection would wait for its end without a limit.
    await Promise.race([this.#pool.end(), timeout.promise]);
    clearTimeout(timer);
  }

  async #connectSerial(): Promise<Client> {
    const client = await this.#means.connect(this.address, statementTimeoutMs);
    try {
      await this.#serialCheck(sqlOver(client));
      return client;
    } catch (error) {
      await disconnect(client);
      throw error;
    }
  }

  async #begin(): Promise<PoolClient> {
    const client = await this.#pool.connect();
    try {
      await client.query('BEGIN');
      return client;
    } catch (error) {
      client.release(true);
      throw error;
    }
  }
}

/**
 * A demoted server rejects each write; only a new connection reaches the server that replaced it.
 */
async function rollBack(client: PoolClient, fresh: boolean): Promise<void> {
  try {
    await client.query('ROLLBACK');
    client.release(fresh);
  } catch {
    // The connection is gone, and the transaction with it.
    client.release(true);
  }
}
