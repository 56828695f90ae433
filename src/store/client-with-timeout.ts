import { Socket } from 'node:net';
import { Client, type ClientConfig } from 'pg';
import { afterNextReads } from '../time/after-next-reads.ts';

type Query = (...given: unknown[]) => unknown;

/**
 * A client whose `query_timeout` measures the database alone. The client's own timer fires as soon
 * as a blocked event loop runs again, before the response that has already arrived is read, and
 * reports the connection as dead. Here, received bytes are read first. A statement without a
 * response then ends the connection, and everything on it fails as a connection loss.
 */
export class ClientWithTimeout extends Client {
  readonly #limitMs: number;
  readonly #socket: Socket;

  constructor(config: ClientConfig = {}) {
    const { query_timeout: limitMs = 0, ...rest } = config;
    const socket = new Socket();
    super({ ...rest, stream: () => socket });
    this.#socket = socket;
    this.#limitMs = Number(limitMs);
    const query = this.query.bind(this) as Query;
    const limited = (...given: unknown[]): unknown => this.#run(query, given);
    if (this.#limitMs > 0) this.query = limited as Client['query'];
  }

  #run(query: Query, given: unknown[]): unknown {
    let isDone = false;
    const timer = setTimeout(() => {
      void afterNextReads().then(() => {
        if (!isDone) this.#giveUp();
      });
    }, this.#limitMs);
    const done = (): void => {
      isDone = true;
      clearTimeout(timer);
    };
    const last = given.at(-1);
    if (typeof last === 'function') {
      const reported: Query = (...outcome) => {
        done();
        return last(...outcome);
      };
      return query(...given.slice(0, -1), reported);
    }
    if (isSubmittable(given[0])) {
      done();
      return query(...given);
    }
    // The client's own promise would keep the values of the statement until the next full collection
    // (docs/decisions/old-generation.md).
    const result = new Promise((resolve, reject) => {
      query(...given, (error: unknown, rows: unknown) => {
        done();
        if (error) reject(error);
        else resolve(rows);
      });
    });
    return result.catch(rethrowFromHere);
  }

  #giveUp(): void {
    this.#socket.destroy(Object.assign(new Error('Query read timeout'), { code: 'ETIMEDOUT' }));
  }
}

/** A query of its own kind, such as a COPY: `query` returns it and calls nobody back. */
function isSubmittable(config: unknown): boolean {
  return typeof (config as { submit?: unknown } | null)?.submit === 'function';
}

/** The trace of an error would lead to the socket: here it leads to who awaits the statement. */
function rethrowFromHere(error: unknown): never {
  if (error instanceof Error) Error.captureStackTrace(error);
  throw error;
}
