import { Client, type ClientConfig } from 'pg';

type Query = (...given: unknown[]) => unknown;

/**
 * A client whose `query_timeout` is the database's alone. The client's own timer rings as soon as a loop that was blocked runs again,
 * before the answer that has long arrived is read, and takes the connection for dead. Here what has arrived is read first. A statement
 * that is not answered then ends the connection, and everything on it fails as a loss of it.
 */
export class ClientWithTimeout extends Client {
  readonly #limitMs: number;

  constructor(config: ClientConfig = {}) {
    const { query_timeout: limitMs = 0, ...rest } = config;
    super(rest);
    this.#limitMs = Number(limitMs);
    const ask = this.query.bind(this) as Query;
    if (this.#limitMs > 0) this.query = ((...given: unknown[]) => this.#ask(ask, given)) as Client['query'];
  }

  #ask(ask: Query, given: unknown[]): unknown {
    let isAnswered = false;
    const late = setTimeout(() => {
      void afterTheNextReads().then(() => {
        if (!isAnswered) this.#giveUp();
      });
    }, this.#limitMs);
    const answered = (): void => {
      isAnswered = true;
      clearTimeout(late);
    };
    const last = given.at(-1);
    if (typeof last === 'function') {
      const reported: Query = (...outcome) => {
        answered();
        return last(...outcome);
      };
      return ask(...given.slice(0, -1), reported);
    }
    const result = ask(...given);
    if (result instanceof Promise) result.then(answered, answered);
    else answered();
    return result;
  }

  #giveUp(): void {
    const { connection } = this as unknown as {
      readonly connection: { readonly stream: { destroy(error: Error): void } };
    };
    connection.stream.destroy(new Error('Query read timeout'));
  }
}

/** Resolves when the loop has looked at all sockets once more, and what that led to has been done. */
async function afterTheNextReads(): Promise<void> {
  for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
