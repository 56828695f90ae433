import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { Journal } from '../journal/journal.ts';
import { KeptSegments } from '../ledger/kept-segments.ts';
import { Retention } from '../ledger/segment-retention.ts';
import { Settlements } from '../ledger/settlements.ts';
import type { Log } from '../log/log.ts';
import { nodeDir } from '../nodes/node-dir.ts';
import { untilIdentityIsFree } from '../nodes/node-identity.ts';
import { removeHome } from '../nodes/nodes-sql.ts';
import { systemProcessMarks } from '../nodes/process-mark.ts';
import { recordChange } from '../store/changes.ts';
import type { Database } from '../store/database.ts';
import { readDatabaseId } from '../store/database-identity.ts';
import { systemClock } from '../time/clock.ts';
import { keepsSettled, reportJournal } from './accounting.ts';
import { lockWorkerDir } from './workers/worker-dir.ts';

/** How long a start waits for the standbys to have what it settled. Nothing looks again before the next start. */
const coverWithinMs = 2_000;

/** What settling a journal takes. */
export interface JournalRecoveryParts {
  readonly database: Database;
  readonly config: Pick<Config, 'database' | 'settlement'>;
  readonly log: Log;
}

/** The homes of workers in a data directory, of this start or of an earlier one, by number. */
export function workerDirs(dataDir: string): readonly string[] {
  const folder = join(dataDir, 'workers');
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => /^[1-9]\d*$/.test(name))
    .sort((a, b) => Number(a) - Number(b))
    .map((name) => join(folder, name));
}

/**
 * Settles what a process that is gone left in the journal of its home, as its next start would do it. The caller holds the home.
 * What the database refuses stays in the journal and is told to `log.error`; what was charged, to the nodes that serve. Throws
 * `NodeIdentityTaken` when another process serves with the identity of the home: it settles its own requests.
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
    clock: systemClock,
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

/** Deletes what the standbys have; where they do not show how far they are, everything: no later look would know more. Never rejects. */
async function forgetCovered(journal: Journal, database: Database): Promise<void> {
  const retention = new Retention({ keepMs: null, graceMs: 0 });
  const parts = { database, journal, retention, clock: systemClock, watch: null };
  try {
    await new KeptSegments(parts).untilCovered(coverWithinMs);
    if (!retention.isFollowed) await journal.forget(journal.kept);
  } catch {
    // The next start settles again what is still there.
  }
}

/** A node that is alone asks nobody what was spent: it must hear of what was, by whoever is no node. */
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
 * Settles the journals of processes that this start has no successor for (fewer workers than the last one, or none), before
 * anything is served, and takes them out of the list of nodes.
 */
export async function settleAbandonedDirs(
  homes: readonly { readonly dir: string; readonly isHeld: boolean }[],
  parts: JournalRecoveryParts,
): Promise<void> {
  for (const { dir, isHeld } of homes) {
    const lock = isHeld ? null : await lockWorkerDir(dir);
    try {
      const recovered = await settleJournal(dir, parts);
      if (recovered.finals + recovered.orphans > 0) parts.log.info('recovered', { home: dir, ...recovered });
      if (existsSync(join(dir, 'node-id'))) await removeHome(parts.database, nodeDir(dir));
    } finally {
      lock?.release();
    }
  }
}
