import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { OperatorError } from '../../errors/operator-error.ts';
import { settleJournal } from '../../ledger/journal-recovery.ts';
import { silentLog } from '../../log/log.ts';
import { nodeDir } from '../../nodes/node-dir.ts';
import { lockWorkerDir, workerDirs } from '../../postgres/worker-dir.ts';
import type { Database } from '../../store/database.ts';

/** The node ids of a data directory and of its workers. */
export function nodeIdsOf(dataDir: string): readonly string[] {
  return [dataDir, ...workerDirs(dataDir)]
    .filter((dir) => existsSync(join(dir, 'node-id')))
    .map((dir) => nodeDir(dir));
}

/** Settles the journals of a killed server as its next start would. */
export async function settleLeftovers(database: Database, dataDir: string, config: Config): Promise<void> {
  const quarantined: string[] = [];
  const error = (event: string): void => {
    // Rejected settlements are in the quarantine and so in the backup; the next start reports
    // journal damage.
    if (event === 'quarantine_not_stored') quarantined.push(event);
  };
  const parts = { database, config, log: { ...silentLog, error } };
  await settleJournal(dataDir, parts);
  for (const home of workerDirs(dataDir)) {
    const lock = await lockWorkerDir(home);
    await settleJournal(home, parts).finally(() => lock.release());
  }
  if (quarantined.length > 0)
    throw new OperatorError(
      'the journal has a settlement that the database rejects: start the server and see its log',
    );
}
