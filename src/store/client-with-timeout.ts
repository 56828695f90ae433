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

  constructor(config: ClientConfig = {}) {
    const { query_timeout: limitMs = 0, ...rest } = config;
    super(rest);
    this.#limitMs = Number(limitMs);
    const query = this.query.bind(this) as Query;
    if (this.#limitMs > 0) this.query = ((...given: unknown[]) => this.#run(query, given)) as Client['query'];
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
    const result = query(...given);
    if (result instanceof Promise) result.then(done, done);
    else done();
    return result;
  }

  #giveUp(): void {
    const { connection } = this as unknown as {
      readonly connection: { readonly stream: { destroy(error: Error): void } };
    };
    connection.stream.destroy(Object.assign(new Error('Query read timeout'), { code: 'ETIMEDOUT' }));
  }
}
