import {
  chmodSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeFolder } from '../store/make-folder.ts';
import { identify, stillRuns } from '../store/process-identity.ts';
import { type Clock, isoOf, systemClock } from '../time/clock.ts';
import { codeOf, EmbeddedError, messageOf } from './errors.ts';

/** The process that holds a data directory, for error messages. */
export interface DataDirHolder {
  readonly pid: number;
  /** What it is, such as `naru up, listening on http://127.0.0.1:8787`. */
  readonly describe: string;
  /** Whether it is a command, which soon releases the directory. */
  readonly isCommand?: boolean;
}

/** The holder of a command other than `naru up`. */
export function commandHolder(pid: number): DataDirHolder {
  return { pid, describe: 'a naru command', isCommand: true };
}

/** A data directory that this process holds until `release`, or until it ends in any way. */
export interface DataDirLock {
  /** Updates the description, when an address is known. */
  describe(text: string): void;
  /** Releases the directory. May be called more than once. */
  release(): void;
}

/**
 * Another process holds the directory; the message names it. `pid` is null when that is not known.
 */
export class DataDirLockedError extends EmbeddedError {
  readonly pid: number | null;
  /** Whether the holder is a command, which soon releases the directory. */
  readonly isByCommand: boolean;

  constructor(message: string, { pid, isCommand }: { pid: number | null; isCommand: boolean }) {
    super(message);
    this.pid = pid;
    this.isByCommand = isCommand;
  }
}

const lockName = 'naru.lock';
const holderName = 'naru.lock.json';
const sqliteBusy = 5;

/** A lock without a reference would be closed by the garbage collector, and lost. */
const openLocks = new Set<DatabaseSync>();

/**
 * Creates the directory (0700) if it does not exist and locks it for this process; throws
 * `DataDirLockedError` when another process has the lock. A directory of ours that others may write
 * to is closed to them; one of another user is refused, unless it is root's or this is root.
 *
 * The lock is one of the kernel (fcntl, which Node reaches through its SQLite only). It ends with
 * its process, so it is never stale. Two processes cannot both get it. It works between containers
 * that share a volume, whose pids are unrelated. The file with pid and start time beside it is for
 * messages only. The process must not open and close `naru.lock` again: by the rules of fcntl that
 * would release the lock.
 */
export async function lockDataDir(
  dataDir: string,
  info: DataDirHolder,
  clock: Clock = systemClock,
): Promise<DataDirLock> {
  const lock = takeLock(dataDir);
  if (lock === null) throw await lockedError(dataDir);
  const holderPath = join(dataDir, holderName);
  const since = isoOf(clock.now());
  const born = identify(info.pid)?.born ?? null;
  const describe = (text: string): void => {
    writeFileSync(`${holderPath}.new`, `${JSON.stringify({ ...info, born, since, describe: text })}\n`, {
      mode: 0o600,
    });
    renameSync(`${holderPath}.new`, holderPath);
  };
  const release = (): void => {
    if (!openLocks.delete(lock)) return;
    try {
      rmSync(holderPath, { force: true });
    } finally {
      lock.close();
    }
  };
  try {
    describe(info.describe);
  } catch (thrown) {
    openLocks.delete(lock);
    lock.close();
    throw new EmbeddedError(`the data directory ${dataDir} cannot be written to: ${messageOf(thrown)}`);
  }
  return { describe, release };
}

function takeLock(dataDir: string): DatabaseSync | null {
  const path = join(dataDir, lockName);
  let lock: DatabaseSync | null = null;
  try {
    makeFolder(dataDir, 0o700);
    lock = new DatabaseSync(path, { timeout: 0 });
    // The lock file stays empty: a transaction that writes nothing holds SQLite's one "reserved"
    // byte, which never waits for readers.
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE');
    chmodSync(path, 0o600);
    assertOurs(dataDir);
    openLocks.add(lock);
    return lock;
  } catch (thrown) {
    lock?.close();
    if (thrown instanceof Error && 'errcode' in thrown && thrown.errcode === sqliteBusy) return null;
    const reason =
      codeOf(thrown) === 'ERR_SQLITE_ERROR' ? `${messageOf(thrown)} (${path})` : messageOf(thrown);
    throw new EmbeddedError(
      `the data directory ${dataDir} cannot be used: ${reason}. It must be writable, and on a file system that has locks`,
    );
  }
}

/** A user who may write to the directory can replace our files. */
function assertOurs(dataDir: string): void {
  const { uid, mode } = statSync(dataDir);
  // The owner of a new file shows our user id: a container's user may have no name, and `process`
  // is not available here.
  const mine = mkdtempSync(join(dataDir, '.whose-'));
  const me = statSync(mine).uid;
  rmdirSync(mine);
  if (uid === me && (mode & 0o002) !== 0) chmodSync(dataDir, mode & 0o7775);
  if (uid !== me && uid !== 0 && me !== 0) throw new Error('it belongs to another user');
}

/**
 * The holder writes its description a moment after it has the lock; until then that of a dead
 * process may be there.
 */
async function lockedError(dataDir: string): Promise<DataDirLockedError> {
  for (let tries = 0; tries < 40; tries += 1) {
    const found = readHolder(dataDir);
    if (found !== null && stillRuns(found))
      return new DataDirLockedError(
        `${dataDir} is in use by process ${found.pid} (${found.describe}) since ${found.since}: stop it first, or choose another data directory`,
        { pid: found.pid, isCommand: found.isCommand === true },
      );
    await sleep(25);
  }
  return new DataDirLockedError(
    `${dataDir} is in use by another process, perhaps in another container: stop it first, or choose another data directory`,
    { pid: null, isCommand: false },
  );
}

function readHolder(dataDir: string): (DataDirHolder & { born: string; since: string }) | null {
  try {
    return JSON.parse(readFileSync(join(dataDir, holderName), 'utf8'));
  } catch {
    return null;
  }
}
