import type { Sql } from '../store/sql.ts';

/** The names of the apps of an account, by their ids as text. */
export async function readAppNames(sql: Sql, accountId: number): Promise<ReadonlyMap<string, string>> {
  const rows = await sql.query<{ id: string; name: string }>(
    'SELECT id::text AS id, name FROM app WHERE account_id = $1',
    [accountId],
  );
  return new Map(rows.map(({ id, name }) => [id, name]));
}
