import { OperatorError } from '../errors/operator-error.ts';
import { isLive, listNodes } from '../nodes/nodes-sql.ts';
import type { Database } from '../store/database.ts';
import { migrate } from '../store/migrate.ts';
import type { Sql } from '../store/sql.ts';

/**
 * Brings the schema up to date for a command. Throws an `OperatorError` and changes nothing when an
 * older server serves from the database: after the migration it could not start again.
 */
export async function migrateForCommand(database: Database, folder?: URL): Promise<void> {
  await migrate(database, { beforeUpgrade: assertUnserved, ...(folder === undefined ? {} : { folder }) });
}

async function assertUnserved(sql: Sql): Promise<void> {
  const serving = (await listNodes(sql)).find(isLive);
  if (serving === undefined) return;
  throw new OperatorError(
    `the server at ${serving.address} serves from this database with an older version of Naru, which could not start again after a migration: run the command of that version, or replace the server first`,
  );
}
