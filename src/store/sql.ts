import type { ClientBase, QueryResultRow } from 'pg';

/** Something that runs SQL: the pool, a transaction, or the serial connection. */
export interface Sql {
  query<R extends QueryResultRow>(text: string, values?: readonly unknown[]): Promise<readonly R[]>;
}

/** Something that runs transactions: the database, or a wrapper that adds to each of them. */
export interface Transactions {
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
}

/** The plain query interface over one client. */
export function sqlOver(client: ClientBase): Sql {
  return {
    query: async <R extends QueryResultRow>(text: string, values: readonly unknown[] = []) =>
      (await client.query<R>(text, [...values])).rows,
  };
}

/** Begins a transaction on one connection, which the caller commits or rolls back. */
export async function begin(sql: Sql): Promise<void> {
  await sql.query('BEGIN');
}

export async function commit(sql: Sql): Promise<void> {
  await sql.query('COMMIT');
}

export async function rollback(sql: Sql): Promise<void> {
  await sql.query('ROLLBACK');
}
