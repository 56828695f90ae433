import type { Log } from '../log/log.ts';
import type { Database } from '../store/database.ts';
import { migrate } from '../store/migrate.ts';
import { findSchemaFaults } from '../store/schema-sql.ts';

/**
 * Migrates the schema, and logs the steps that were applied and what differs from the schema
 * (spec:money/3.9).
 */
export async function migrateLogged(database: Database, log: Log): Promise<void> {
  const migrated = await migrate(database);
  if (migrated.length > 0) log.info('migrated', { steps: migrated.join(', ') });
  for (const detail of await findSchemaFaults(database)) log.error('schema_differs', { detail });
}
