import type { DatabaseAddress } from '../../src/store/connection.ts';
import { Database } from '../../src/store/database.ts';

/**
 * Shifts the clock of a database by an interval of SQL, such as `- interval '2 hours'`: every later
 * session of it reads another time than this machine. Repeated, it moves the clock of those sessions.
 */
export async function shiftDatabaseClock(address: DatabaseAddress, shift: string): Promise<void> {
  const database = new Database(address, 1);
  await database.query('CREATE SCHEMA IF NOT EXISTS other_clock');
  await database.query(
    `CREATE OR REPLACE FUNCTION other_clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS
     $$ SELECT pg_catalog.clock_timestamp() ${shift} $$`,
  );
  await database.query(
    `ALTER DATABASE ${address.database} SET search_path = public, other_clock, pg_catalog`,
  );
  await database.close();
}
