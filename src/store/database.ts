import { type Client, Pool, type PoolClient, type QueryResultRow } from 'pg';
import { type Clock, systemClock } from '../time/clock.ts';
import { ClientWithTimeout } from './client-with-timeout.ts';
import {
  addressAt,
  clientConfig,
  connect,
  type DatabaseAddress,
  disconnect,
  isConflict,
  isConnectionLoss,
  isFromServer,
  isOutOfConnections,
  isReadOnly,
  setDurable,
  statementTimeoutMs,
} from './connection.ts';
import { SerialConnection } from './serial-connection.ts';
import { oneShard, readShards, type ShardServer, type Shards } from './shards.ts';
import { type Sql, sqlOver } from './sql.ts';

/** How long a read is retried while the server restarts, milliseconds. */
const retryForMs = 4_000;
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

const systemMeans: DatabaseMeans = {
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
  /** The one connection on which settlements and re-reads of money run in order. */
  readonly serial: SerialConnection;
  #shards = oneShard;
  /** Connections to the servers that have shards, by name; null: we do not reach it. */
  readonly #entries = new Map<string, SerialConnection | null>();
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
    this.serial = new SerialConnection(() => this.#connectSerial());
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
    for (let shard = 0; shard < shards.count; shard += 1) {
      const server = shards.serverOf(shard);
      if (server !== null && (this.#entries.get(nameOf(server)) ?? null) === null)
        this.#entries.set(nameOf(server), await this.#entryAt(server));
    }
    this.#shards = shards;
  }

  /**
   * Runs `use` in a turn of the serial connection, on a connection to the server that has the shard
   * of the account if it is reached: there the engine needs no second server for it, and no
   * two-phase commit.
   */
  settle<T>(accountId: number, use: (client: Client) => Promise<T>): Promise<T> {
    const server = this.#shards.serverOf(this.#shards.of(accountId));
    const entry = server === null ? null : (this.#entries.get(nameOf(server)) ?? null);
    if (entry === null) return this.serial.run((_sql, client) => use(client));
    return this.serial.inTurn(() => entry.run((_sql, client) => use(client)));
  }

  async #entryAt(server: ShardServer): Promise<SerialConnection | null> {
    const address = addressAt(this.address, server);
    try {
      await disconnect(await this.#means.connect(address, probeWithinMs));
    } catch {
      return null;
    }
    return new SerialConnection(() => this.#means.connect(address, statementTimeoutMs));
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

  /** Runs one READ; while the server restarts it is retried for up to 4 s. */
  async query<R extends QueryResultRow>(
    text: string,
    values: readonly unknown[] = [],
  ): Promise<readonly R[]> {
    return withRetries(this.#means.clock, async () => (await this.#pool.query<R>(text, [...values])).rows);
  }

  /**
   * Runs READS in a turn of the serial connection; while the server restarts they are retried for
   * up to 4 s.
   */
  readInOrder<T>(read: (sql: Sql) => Promise<T>): Promise<T> {
    return withRetries(this.#means.clock, () => this.serial.run(read));
  }

  /**
   * Runs `work` in one transaction. Waits for a connection while the server restarts. After BEGIN
   * only a conflict with another transaction is retried, never a lost connection: its COMMIT may
   * have happened.
   */
  async transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      const client = await withRetries(this.#means.clock, () => this.#begin());
      try {
        const result = await work(sqlOver(client));
        await client.query('COMMIT');
        client.release();
        return result;
      } catch (error) {
        await rollBack(client, isReadOnly(error));
        if (!isConflict(error) || tries === 5) throw error;
      }
    }
  }

  /** Closes every connection. Earlier work of the serial connection is finished first. */
  async close(): Promise<void> {
    await this.serial.close();
    for (const entry of this.#entries.values()) await entry?.close();
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

function nameOf({ host, port }: ShardServer): string {
  return `${host}:${port}`;
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

async function withRetries<T>(clock: Clock, read: () => Promise<T>): Promise<T> {
  const beganMs = clock.monotonic();
  for (;;) {
    try {
      return await read();
    } catch (error) {
      // An attempt may itself take seconds, when nothing listens at the address.
      if (!isConnectionLoss(error) || clock.monotonic() - beganMs >= retryForMs) throw error;
      await new Promise<void>((resolve) => clock.after(retryEveryMs, resolve));
    }
  }
}
