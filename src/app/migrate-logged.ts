import type { Log } from '../log/log.ts';
import type { Database } from '../store/database.ts';
import { migrate } from '../store/migrate.ts';

/** Migrates the schema, and logs the steps that were applied. */
export async function migrateLogged(database: Database, log: Log): Promise<void> {
  const migrated = await migrate(database);
  if (migrated.length > 0) log.info('migrated', { steps: migrated.join(', ') });
}
