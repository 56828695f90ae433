import type { Sql } from './sql.ts';

/** The time of the database server, epoch milliseconds: the one clock that all nodes share. */
export async function readServerTime(sql: Sql): Promise<number> {
  const [row] = await sql.query<{ now: number }>(
    'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now',
  );
  if (row === undefined) throw new Error('the database does not know the time');
  return row.now;
}
