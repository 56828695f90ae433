import { type CliPaths, readConfig, settingsOf } from '../app/config-source.ts';
import { openDatabaseBeside } from '../app/database.ts';
import type { ProcessContext } from '../app/process-context.ts';
import { counted } from '../errors/counted.ts';
import { OperatorError } from '../errors/operator-error.ts';
import { isLive, listNodes } from '../nodes/nodes-sql.ts';
import type { Database } from '../store/database.ts';
import {
  assertDistributable,
  type DatabaseStatus,
  distributeTables,
  readStatus,
} from '../store/placement/distribution.ts';
import { assertConsistent } from './assert-consistent.ts';
import { migrateForCommand } from './migrate-for-command.ts';
import { recordCommand } from './record-command.ts';

export type { DatabaseStatus } from '../store/placement/distribution.ts';

/** Reads how the configured database stores the tables of accounts. */
export function readDatabaseStatus(paths: CliPaths, proc: ProcessContext): Promise<DatabaseStatus> {
  return withDatabase(paths, proc, readStatus);
}

/**
 * Distributes the tables of accounts over the servers of the configured Citus cluster, in one
 * transaction. Refuses while a gateway serves, and when the ledger does not agree before; throws
 * when it does not agree afterwards.
 */
export function distributeDatabase(paths: CliPaths, proc: ProcessContext): Promise<DatabaseStatus> {
  return withDatabase(paths, proc, async (database) => {
    await assertDistributable(database);
    await migrateForCommand(database);
    const serving = (await listNodes(database)).filter(isLive);
    if (serving.length > 0)
      throw new OperatorError(`stop the gateways first: ${counted(serving.length, 'node')} still serve`);
    await assertConsistent(database, 'before the distribution; nothing was changed');
    await database.transaction(distributeTables);
    await assertConsistent(database, 'after the distribution');
    const status = await readStatus(database);
    const { servers } = status;
    await recordCommand(database, proc.user, { act: 'database.distribute', after: { servers } });
    return status;
  });
}

async function withDatabase<T>(
  paths: CliPaths,
  proc: ProcessContext,
  use: (database: Database) => Promise<T>,
): Promise<T> {
  const settings = settingsOf(paths, proc);
  const { database, close } = await openDatabaseBeside(readConfig(settings, proc), settings.dataDir, proc);
  try {
    return await use(database);
  } finally {
    await close();
  }
}
