import { type Client, Pool, type PoolClient, type QueryResultRow } from 'pg';
import { OutcomeUnknown } from '../errors/outcome-unknown.ts';
import { type Clock, systemClock } from '../time/clock.ts';
import { ClientWithTimeout } from './client-with-timeout.ts';
import {
  clientConfig,
  connect,
  type DatabaseAddress,
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
import { assumeOneServer, findPlacement } from './placement/find-placement.ts';
import type { Placement } from './placement/placement.ts';
import type { PlacementParts } from './placement/placement-parts.ts';
import { planOnce } from './placement/plans.ts';
import { SerialConnection } from './serial-connection.ts';
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
  /** The one connection on which everything of no account runs in order, and all with one server. */
  readonly serial: SerialConnection;
  readonly #placementParts: PlacementParts;
  #placement: Placement;
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
    const openOrdered = (): SerialConnection => new SerialConnection(() => this.#connectSerial());
    this.serial = openOrdered();
    this.#placementParts = { ...means, address, database: this, serial: this.serial, openOrdered };
    this.#placement = assumeOneServer(this.#placementParts);
  }

  /**
   * Runs `check` on every further connection of the serial connection before it is used; one on
   * which it rejects is not used.
   */
  checkSerial(check: (sql: Sql) => Promise<unknown>): void {
    this.#serialCheck = check;
  }

  /** Where the accounts are, as of the last `place`: before that, on one server. */
  get placement(): Placement {
    return this.#placement;
  }

  /** Finds where the accounts are. `sql`: a transaction of this database that reads it. */
  async place(sql: Sql = this): Promise<Placement> {
    this.#placement = await findPlacement(this.#placement, this.#placementParts, sql);
    return this.#placement;
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
      this.#placement.assertDrained(accountId);
      return this.#placement.orderedFor(accountId).run(read);
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
    await this.#placement.close();
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
      await planOnce(client);
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
