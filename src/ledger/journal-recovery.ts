import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { Log } from '../log/log.ts';
import { nodeDir } from '../nodes/node-dir.ts';
import { untilIdentityIsFree } from '../nodes/node-identity.ts';
import { removeHome } from '../nodes/nodes-sql.ts';
import { systemProcessMarks } from '../nodes/process-mark.ts';
import { lockWorkerDir, workerDirs } from '../postgres/worker-dir.ts';
import { recordChange } from '../store/changes.ts';
import type { Database } from '../store/database.ts';
import { DatabaseClock } from '../store/database-clock.ts';
import { readDatabaseId } from '../store/database-identity.ts';
import { migrateLogged } from '../store/migrate.ts';
import { systemClock } from '../time/clock.ts';
import { Journal } from './journal/journal.ts';
import { keepsSettled, reportJournal } from './journal-events.ts';
import { KeptSegments } from './kept-segments.ts';
import { Retention } from './segment-retention.ts';
import { Settlements } from './settlements.ts';

/**
 * How long a start waits for the standbys to receive its settlements. Nothing checks again before
 * the next start.
 */
const coverWithinMs = 2_000;

/** The parts that settling a journal needs. */
export interface JournalRecoveryParts {
  readonly database: Database;
  readonly config: Pick<Config, 'database' | 'settlement'>;
  readonly log: Log;
}

/**
 * Settles the journal that an ended process left in `home`, as its next start would. The caller
 * holds the lock of the directory. Settlements that the database rejects stay in the journal and
 * are logged; serving nodes are notified of the charges. Throws `NodeIdentityTaken` when another
 * process serves with that identity: it settles its own requests.
 */
export async function settleJournal(
  home: string,
  { database, config, log }: JournalRecoveryParts,
): Promise<{ readonly finals: number; readonly orphans: number }> {
  const dir = join(home, 'journal');
  if (!existsSync(dir)) return { finals: 0, orphans: 0 };
  const id = nodeDir(home);
  const owner = { database: await readDatabaseId(database), home: id };
  await untilIdentityIsFree({ database, clock: systemClock, marks: systemProcessMarks() }, id);
  const journal = await Journal.open({
    dir,
    clock: systemClock,
    owner,
    report: (event) => reportJournal(log, event),
    keepsSettled: keepsSettled(config),
  });
  const charged = { account: new Set<number>(), key: new Set<number>() };
  const settlements = new Settlements({
    database,
    journal,
    ack: config.settlement.ack,
    clock: await DatabaseClock.open(database, systemClock),
    log,
    spendingNode: () => null,
    onCommitted: (rows, { replayed }) => {
      for (const { uuid, cost, accountId, keyId } of rows) {
        if (cost === 0n || replayed.has(uuid)) continue;
        charged.account.add(accountId);
        charged.key.add(keyId);
      }
    },
    onQuarantined: () => {},
  });
  try {
    return await settlements.recover();
  } finally {
    await settlements.close();
    await forgetCovered(journal, database);
    await notifyNodes(database, charged);
  }
}

/**
 * Deletes the segments that the standbys have; all of them if their positions are unreadable, since
 * a later check knows no more. Never rejects.
 */
async function forgetCovered(journal: Journal, database: Database): Promise<void> {
  const retention = new Retention({ keepMs: null, graceMs: 0 });
  const parts = { database, journal, retention, clock: systemClock, watch: null };
  try {
    await new KeptSegments(parts).untilCovered(coverWithinMs);
    if (!retention.isFollowed) await journal.forget(journal.kept);
  } catch {
    // The next start settles the remaining segments again, which changes nothing.
  }
}

/**
 * A node that is alone reads no spend of others, so it must be notified of charges by
 * processes that are not nodes.
 */
export async function notifyNodes(
  database: Database,
  charged: Readonly<Record<'account' | 'key', ReadonlySet<number>>>,
): Promise<void> {
  if (charged.account.size === 0) return;
  await database.transaction(async (sql) => {
    for (const topic of ['account', 'key'] as const)
      for (const subject of charged[topic]) await recordChange(sql, topic, subject);
  });
}

/**
 * Settles the journals in a data directory that no worker of this start takes over (another number
 * of workers before), and removes them from the list of nodes. The caller holds the lock of the
 * data directory, and no worker serves yet.
 */
export async function settleAbandonedDirs(
  dataDir: string,
  takenOver: readonly string[],
  parts: JournalRecoveryParts,
): Promise<void> {
  const left = [dataDir, ...workerDirs(dataDir)].filter((dir) => !takenOver.includes(dir));
  if (left.length === 0) return;
  await migrateLogged(parts.database, parts.log);
  for (const dir of left) {
    const lock = dir === dataDir ? null : await lockWorkerDir(dir);
    try {
      const recovered = await settleJournal(dir, parts);
      if (recovered.finals + recovered.orphans > 0) parts.log.info('recovered', { home: dir, ...recovered });
      if (existsSync(join(dir, 'node-id'))) await removeHome(parts.database, nodeDir(dir));
    } finally {
      lock?.release();
    }
  }
}
