import type { Client, QueryResult, QueryResultRow } from 'pg';

/** A prepared statement with its values. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

/**
 * Statements of one transaction that are sent one after another, without waiting for each response:
 * the next one is built while the server works. After one has failed the server refuses those
 * behind it, so the first error is the cause.
 */
export class Pipeline {
  readonly #client: Client;
  readonly #results: Promise<unknown>[] = [];

  constructor(client: Client) {
    this.#client = client;
  }

  /** Sends a statement whose result is not needed. */
  send(statement: Statement | string): void {
    void this.query(statement);
  }

  /**
   * Sends a statement; resolves with its result, or rejects with its error, which `finished` then
   * reports as well.
   */
  query<R extends QueryResultRow>(statement: Statement | string): Promise<QueryResult<R>> {
    const result =
      typeof statement === 'string'
        ? this.#client.query<R>(statement)
        : this.#client.query<R>({ ...statement, values: [...statement.values] });
    result.catch(() => {});
    this.#results.push(result);
    return result;
  }

  /**
   * Resolves when everything sent has a response; rejects with the first error, after the last
   * response.
   */
  async finished(): Promise<void> {
    for (const outcome of await Promise.allSettled(this.#results))
      if (outcome.status === 'rejected') throw outcome.reason;
  }
}
