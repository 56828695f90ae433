import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type CliPaths, readConfig, settingsOf } from '../app/config-source.ts';
import { openDatabaseBeside } from '../app/database.ts';
import type { ProcessContext } from '../app/process-context.ts';
import { counted } from '../errors/counted.ts';
import { OperatorError } from '../errors/operator-error.ts';
import { type FoundSegment, inspectJournal, markSettled } from '../ledger/journal/inspect.ts';
import type { Ticket } from '../ledger/journal/journal.ts';
import type { OpenRecord } from '../ledger/journal-records.ts';
import { notifyNodes } from '../ledger/journal-recovery.ts';
import {
  checkRecovered,
  orphanFailure,
  readOrphanedRecords,
  settledByNow,
} from '../ledger/orphaned-requests.ts';
import { Quarantine } from '../ledger/quarantine.ts';
import type { SettlementRow } from '../ledger/settlement-sql.ts';
import { Settlers } from '../ledger/settlers.ts';
import { silentLog } from '../log/log.ts';
import { isHolderDead } from '../nodes/node-identity.ts';
import { closeNode, type NodeHolder, readHolder } from '../nodes/nodes-sql.ts';
import { systemProcessMarks } from '../nodes/process-mark.ts';
import {
  commandHolder,
  type DataDirLock,
  DataDirLockedError,
  lockDataDir,
} from '../postgres/data-dir-lock.ts';
import { workerDirs } from '../postgres/worker-dir.ts';
import type { Database } from '../store/database.ts';
import { DatabaseClock } from '../store/database-clock.ts';
import { readDatabaseId } from '../store/database-identity.ts';
import { type Clock, systemClock } from '../time/clock.ts';
import { migrateForCommand } from './migrate-for-command.ts';
import { recordCommand } from './record-command.ts';

/** The arguments of `naru node recover`. */
export interface RecoverOptions {
  /** A data directory, or a journal folder. */
  readonly dir: string;
  /**
   * The folder may be an older copy: unfinished requests are left alone and the node stays listed.
   */
  readonly isCopy: boolean;
  /**
   * Also settle segments of this database, which the current one replaces. Null: only those of the
   * current one.
   */
  readonly ofDatabase: string | null;
  /**
   * A damaged, cut or torn journal is all that is left of its node. Otherwise its unfinished requests
   * are left alone and the node stays listed: the missing part may have their charges.
   */
  readonly acceptsTorn: boolean;
}

/** The outcome of `naru node recover`. */
export interface Recovered {
  /** Charges and records found, and how many of them the database had already. */
  readonly settlements: number;
  readonly known: number;
  /** Settlements that the database rejected (`naru ledger quarantine`). */
  readonly quarantined: number;
  /** Unfinished requests that were recorded as failed, and those that were left alone. */
  readonly failed: number;
  readonly unfinished: number;
  /** Segments that are damaged, cut off or torn. */
  readonly damaged: number;
  /** Segments of other databases, by the database. */
  readonly elsewhere: ReadonlyMap<string, number>;
  /** Lost nodes that were removed from the list: their journals are settled. */
  readonly closed: readonly string[];
  /** Nodes that are serving: they settle their own requests. */
  readonly alive: readonly string[];
}

/** Nothing to release: the files do not change. */
const noTicket = 0 as Ticket;

/** One journal folder: its segments that belong to this database, and their owners. */
interface Found {
  readonly segments: readonly FoundSegment[];
  /** The identities of their nodes. */
  readonly homes: ReadonlySet<string>;
  readonly settled: readonly SettlementRow[];
  readonly orphans: readonly OpenRecord[];
  readonly damaged: number;
}

/** What was found in all folders of an order. */
interface FoundSegments {
  readonly found: Found[];
  readonly elsewhere: Map<string, number>;
}

/**
 * `naru node recover`: settles the journal in a data directory, a copy of one, or a journal folder
 * into the configured database. Safe beside running servers and safe to repeat. Throws an
 * `OperatorError` and settles nothing when the node's own process lives. Changes nothing in the
 * folder, except that it marks segments that were set aside and are settled now.
 */
export async function recoverJournal(
  paths: CliPaths,
  options: RecoverOptions,
  proc: ProcessContext,
): Promise<Recovered> {
  const dir = resolve(proc.cwd, options.dir);
  const folders = journalFolders(dir);
  const settings = settingsOf(paths, proc);
  const config = readConfig(settings, proc);
  const { database, close } = await openDatabaseBeside(config, settings.dataDir, proc);
  const locks: DataDirLock[] = [];
  try {
    await migrateForCommand(database);
    // The directory of the embedded database is locked by this command, or by a server that is
    // registered in that database.
    const own = config.database.url === 'embedded' ? settings.dataDir : null;
    const isServed = await takeLocks(
      [dir, ...workerDirs(dir)].filter((home) => home !== own),
      locks,
    );
    const done = await recoverInto(database, folders, options, isServed);
    const { settlements, failed, closed } = done;
    await recordCommand(database, proc.user, { act: 'node.recover', after: { settlements, failed, closed } });
    return done;
  } finally {
    for (const lock of locks) lock.release();
    await close();
  }
}

function journalFolders(dir: string): readonly string[] {
  const folders = [dir, ...workerDirs(dir)]
    .map((home) => join(home, 'journal'))
    .filter((one) => existsSync(one));
  if (folders.length > 0) return folders;
  if (existsSync(dir) && inspectJournal(dir).length > 0) return [dir];
  throw new OperatorError(`${dir} has no journal: pass a data directory or a journal folder`);
}

/**
 * Locks the directories so that no server starts in them; true when one has a lock already. A
 * read-only disk has no lock.
 */
async function takeLocks(homes: readonly string[], locks: DataDirLock[]): Promise<boolean> {
  for (const home of homes.filter((one) => existsSync(join(one, 'naru.lock')))) {
    try {
      locks.push(await lockDataDir(home, commandHolder(0)));
    } catch (error) {
      if (error instanceof DataDirLockedError) return true;
    }
  }
  return false;
}

async function recoverInto(
  database: Database,
  folders: readonly string[],
  { isCopy, ofDatabase, acceptsTorn }: RecoverOptions,
  isServed: boolean,
): Promise<Recovered> {
  const own = await readDatabaseId(database);
  const tally: FoundSegments = { found: [], elsewhere: new Map() };
  for (const folder of folders)
    tally.found.push(readFolder(folder, new Set([own, ofDatabase ?? own]), tally));
  // Read after the journal: a node that writes to it now registered before that.
  const homes = new Set(tally.found.flatMap((found) => [...found.homes]));
  const alive = new Set<string>();
  for (const home of homes) if (isServed || (await isAlive(database, home, isCopy))) alive.add(home);
  const incomplete = new Set(
    tally.found.filter(({ damaged }) => damaged > 0 && !acceptsTorn).flatMap((found) => [...found.homes]),
  );
  const mayClose = (home: string): boolean => !isCopy && !alive.has(home) && !incomplete.has(home);
  const mayFail = ({ homes: of, damaged }: Found): boolean =>
    !isCopy && (damaged === 0 || acceptsTorn) && [...of].every(mayClose);
  const clock = await DatabaseClock.open(database, systemClock);
  const nowMs = clock.now();
  const failed = tally.found
    .filter(mayFail)
    .flatMap(({ orphans }) => orphans.map((record) => orphanFailure(record, nowMs)));
  const settlements = tally.found.flatMap(({ settled }) => settled.map((row) => settledByNow(row, nowMs)));
  const { known, quarantined } = await settleAll(database, clock, [...settlements, ...failed]);
  for (const { segments } of tally.found)
    for (const segment of segments) if (segment.isSetAside && !segment.isDamaged) noteSettled(segment);
  const closed: string[] = [];
  for (const home of [...homes].filter(mayClose)) {
    const closure = { home, closure: 'recovered', reason: null } as const;
    if ((await closeNode(database, closure, isDead)) === 'closed') closed.push(home);
  }
  const orphans = tally.found.reduce((sum, found) => sum + found.orphans.length, 0);
  return {
    settlements: settlements.length,
    known: known.filter((uuid) => settlements.some((row) => row.uuid === uuid)).length,
    quarantined,
    failed: failed.length,
    unfinished: orphans - failed.length,
    damaged: tally.found.reduce((sum, { damaged }) => sum + damaged, 0),
    elsewhere: tally.elsewhere,
    closed,
    alive: [...alive],
  };
}

/** On a read-only disk the file stays and may be settled again, which changes nothing. */
function noteSettled(segment: FoundSegment): void {
  try {
    markSettled(segment);
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== 'EROFS') throw error;
  }
}

function isDead(holder: NodeHolder): boolean {
  return isHolderDead(holder, systemProcessMarks());
}

/**
 * Whether the process of a node lives, also one that is only paused. Throws then unless the folder
 * is a copy, of which nothing is taken to have ended.
 */
async function isAlive(database: Database, home: string, isCopy: boolean): Promise<boolean> {
  const holder = await readHolder(database, home);
  if (holder === null || isDead(holder)) return false;
  if (isCopy) return true;
  const seen = `${holder.address}, seen ${Math.max(0, Math.round(holder.silentMs))} ms ago`;
  throw new OperatorError(
    `node ${home} is not lost (${seen}): its process lives, perhaps paused, and settles its own requests. Stop it first, or pass --copy to settle only what has ended. Nothing was changed`,
  );
}

/** A segment without an owner belongs to its data directory and to the configured database. */
function readFolder(folder: string, databases: ReadonlySet<string>, tally: FoundSegments): Found {
  const homes = new Set<string>();
  const ours: FoundSegment[] = [];
  for (const segment of inspectJournal(folder)) {
    const { owner } = segment;
    if (owner !== null && !databases.has(owner.database)) {
      if (segment.records()[Symbol.iterator]().next().done === true) continue;
      tally.elsewhere.set(owner.database, (tally.elsewhere.get(owner.database) ?? 0) + 1);
      continue;
    }
    const home = owner?.home ?? readNodeId(folder);
    if (home !== null) homes.add(home);
    ours.push(segment);
  }
  const records = ours.flatMap((segment) =>
    [...segment.records()].map((record) => ({ ...record, ticket: noTicket })),
  );
  const { settled, orphans } = readOrphanedRecords(records);
  return {
    segments: ours,
    homes,
    settled: settled.map(({ row }) => row),
    orphans: orphans.map(({ record }) => record),
    damaged: ours.filter(({ isDamaged }) => isDamaged).length,
  };
}

function readNodeId(folder: string): string | null {
  const file = join(dirname(folder), 'node-id');
  const text = existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
  return /^[0-9a-f-]{36}$/.test(text) ? text : null;
}

/**
 * Settles rows that may have been settled before; quarantines those that the database rejects or
 * whose payer is unknown.
 */
async function settleAll(
  database: Database,
  clock: Clock,
  rows: readonly SettlementRow[],
): Promise<{ readonly known: readonly string[]; readonly quarantined: number }> {
  const { quarantined, unknownKeys: unknown } = await checkRecovered(database, rows);
  const known: string[] = [...quarantined];
  const charged = { account: new Set<number>(), key: new Set<number>() };
  const quarantine = new Quarantine({ database, journal: { release: () => {} }, log: silentLog });
  const refused: Promise<void>[] = [];
  await database.place();
  const settlers = new Settlers({
    database,
    clock,
    log: silentLog,
    spendingNode: () => null,
    onCommitted: (committed, { replayed }) => {
      known.push(...replayed);
      for (const { uuid, cost, accountId, keyId } of committed) {
        if (cost === 0n || replayed.has(uuid)) continue;
        charged.account.add(accountId);
        charged.key.add(keyId);
      }
    },
    onQuarantined: (row, reason) => void refused.push(quarantine.add(row, reason, [])),
  });
  for (const row of rows) {
    if (quarantined.has(row.uuid)) continue;
    const reason = unknown.get(row.uuid);
    if (reason === undefined) settlers.push(row, { ended: () => {} }, true);
    else refused.push(quarantine.add(row, reason, []));
  }
  await settlers.drained();
  await Promise.all(refused);
  await notifyNodes(database, charged);
  if (quarantine.unstored > 0)
    throw new OperatorError(
      `the database rejected ${counted(quarantine.unstored, 'settlement')} and the quarantine entries; the journal still has them`,
    );
  return { known, quarantined: refused.length };
}
