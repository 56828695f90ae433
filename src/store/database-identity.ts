import type { Sql } from './sql.ts';

/**
 * The identity of this database, a uuid. Throws when there is none: the row was deleted by hand.
 */
export async function readDatabaseId(sql: Sql): Promise<string> {
  const [row] = await sql.query<{ id: string }>('SELECT id FROM database_identity');
  if (row === undefined)
    throw new Error('the database has no identity: the row of database_identity is gone');
  return row.id;
}

/** When the database was created by its own clock, in epoch milliseconds. */
export async function readCreation(sql: Sql): Promise<number> {
  const [row] = await sql.query<{ at: number | null }>('SELECT min(applied_at) AS at FROM schema_migration');
  return row?.at ?? 0;
}
