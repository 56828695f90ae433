import type { Client } from 'pg';
import { disconnect } from './connection.ts';
import { type Sql, sqlOver } from './sql.ts';

/**
 * One connection whose uses follow each other strictly. A settlement and a re-read of the same
 * account must not overtake one another: a read here contains exactly the local settlements that
 * ran before it. A lost connection fails the current use and is opened again for the next one.
 */
export class SerialConnection {
  readonly #open: () => Promise<Client>;
  #client: Client | null = null;
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(open: () => Promise<Client>) {
    this.#open = open;
  }

  /**
   * Runs `use` when every earlier use has ended; rejects with what it or the connection throws. A
   * use whose error `isInDoubt` is repeated once in its turn, on a new connection: a later read
   * must not find what it may have done while memory still counts it as to be done.
   */
  run<T>(
    use: (sql: Sql, client: Client) => Promise<T>,
    isInDoubt: (error: unknown) => boolean = () => false,
  ): Promise<T> {
    return this.inTurn(() =>
      this.#use(use).catch((error) => {
        if (!isInDoubt(error)) throw error;
        return this.#use(use);
      }),
    );
  }

  /** The same for work that may use another connection, and fail without an effect on this one. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => {});
    return turn;
  }

  /** Resolves when the uses so far have ended. */
  async idle(): Promise<void> {
    await this.#last;
  }

  /** Waits for the uses so far, then closes the connection. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#last;
    await this.#drop();
  }

  async #use<T>(use: (sql: Sql, client: Client) => Promise<T>): Promise<T> {
    if (this.#closed && this.#client === null) throw new Error('the database connection is closed');
    this.#client ??= await this.#open();
    try {
      return await use(sqlOver(this.#client), this.#client);
    } catch (error) {
      // The state that the failed use left behind (an open transaction, a broken socket) must not
      // affect the next one.
      await this.#drop();
      throw error;
    }
  }

  async #drop(): Promise<void> {
    const client = this.#client;
    this.#client = null;
    if (client !== null) await disconnect(client);
  }
}
