import type { Client, QueryResult, QueryResultRow } from 'pg';

/** A prepared statement with its values. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

/**
 * Statements of one transaction that are sent one behind the other, without waiting for the answer of each: the next one is built
 * while the server works. After one has failed the server refuses those behind it, so the first error is the one that says why.
 */
export class Pipeline {
  readonly #client: Client;
  readonly #results: Promise<unknown>[] = [];

  constructor(client: Client) {
    this.#client = client;
  }

  /** Sends a statement whose answer says nothing but that it is done. */
  send(statement: Statement | string): void {
    void this.query(statement);
  }

  /** Sends a statement; resolves with its answer, or rejects as it failed, which `answered` then says as well. */
  query<R extends QueryResultRow>(statement: Statement | string): Promise<QueryResult<R>> {
    const result =
      typeof statement === 'string'
        ? this.#client.query<R>(statement)
        : this.#client.query<R>({ ...statement, values: [...statement.values] });
    result.catch(() => {});
    this.#results.push(result);
    return result;
  }

  /** Resolves when everything sent was answered; rejects with the first error, after the last answer. */
  async finished(): Promise<void> {
    for (const outcome of await Promise.allSettled(this.#results))
      if (outcome.status === 'rejected') throw outcome.reason;
  }
}
