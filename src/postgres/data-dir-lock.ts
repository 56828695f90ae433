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
import { type Clock, isoOf, systemClock } from '../time/clock.ts';
import { codeOf, EmbeddedError, messageOf } from './errors.ts';
import { identify } from './process-identity.ts';

/** Who holds a data directory, in words for the one who finds it taken. */
export interface DataDirHolder {
  readonly pid: number;
  /** What it is, such as `naru up, listening on http://127.0.0.1:8787`. */
  readonly describe: string;
}

/** A data directory that is ours until `release`, or until this process ends in whatever way. */
export interface DataDirLock {
  /** Says anew what we are, when an address is known. */
  describe(text: string): void;
  /** Lets others have it. May be called more than once. */
  release(): void;
}

/** The directory belongs to another process, which the message names. `pid` is null when that is not known. */
export class DataDirLockedError extends EmbeddedError {
  readonly pid: number | null;

  constructor(message: string, pid: number | null) {
    super(message);
    this.pid = pid;
  }
}

const lockName = 'naru.lock';
const holderName = 'naru.lock.json';
const sqliteBusy = 5;

/** A lock that the garbage collector finds would be closed, and lost. */
const held = new Set<DatabaseSync>();

/**
 * Creates the directory (0700) if it is not there and takes it for this process alone; throws `DataDirLockedError` when another has it. One
 * of our own that everybody may write to is closed to them; one of another user is refused, unless root's or asked for by root.
 *
 * What excludes others is a lock of the kernel (fcntl, which Node reaches through its SQLite only): it ends with its holder, so
 * it is never stale and there is nothing to take over; two processes cannot both get it; and it holds between containers that
 * share a volume, whose pids mean nothing to each other. The file with pid and start time beside it only tells who it is.
 * Nobody may open and close `naru.lock` inside the holder: by the rules of fcntl that would give the lock away.
 */
export async function lockDataDir(
  dataDir: string,
  info: DataDirHolder,
  clock: Clock = systemClock,
): Promise<DataDirLock> {
  const lock = takeLock(dataDir);
  if (lock === null) throw await heldBy(dataDir);
  const holderPath = join(dataDir, holderName);
  const since = isoOf(clock.now());
  const born = (await identify(info.pid))?.born ?? null;
  const describe = (text: string): void => {
    writeFileSync(
      `${holderPath}.new`,
      `${JSON.stringify({ pid: info.pid, born, since, describe: text })}\n`,
      {
        mode: 0o600,
      },
    );
    renameSync(`${holderPath}.new`, holderPath);
  };
  const release = (): void => {
    if (!held.delete(lock)) return;
    try {
      rmSync(holderPath, { force: true });
    } finally {
      lock.close();
    }
  };
  try {
    describe(info.describe);
  } catch (thrown) {
    held.delete(lock);
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
    // The lock file stays empty: a transaction that writes nothing holds SQLite's one "reserved" byte, which never waits for readers.
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE');
    chmodSync(path, 0o600);
    assertOurs(dataDir);
    held.add(lock);
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

/** Whoever may write to the directory can put anything in the place of our files. */
function assertOurs(dataDir: string): void {
  const { uid, mode } = statSync(dataDir);
  // Who we are shows in what we make: a container's user may have no name, and `process` is not known here.
  const mine = mkdtempSync(join(dataDir, '.whose-'));
  const me = statSync(mine).uid;
  rmdirSync(mine);
  if (uid === me && (mode & 0o002) !== 0) chmodSync(dataDir, mode & 0o7775);
  if (uid !== me && uid !== 0 && me !== 0) throw new Error('it belongs to another user');
}

/** The holder writes its name a moment after it has the lock; until then a dead one's may stand there. */
async function heldBy(dataDir: string): Promise<DataDirLockedError> {
  for (let tries = 0; tries < 40; tries += 1) {
    const found = readHolder(dataDir);
    if (found !== null && (await identify(found.pid))?.born === found.born)
      return new DataDirLockedError(
        `${dataDir} is in use by process ${found.pid} (${found.describe}) since ${found.since}: stop it first, or choose another data directory`,
        found.pid,
      );
    await sleep(25);
  }
  return new DataDirLockedError(
    `${dataDir} is in use by another process, perhaps in another container: stop it first, or choose another data directory`,
    null,
  );
}

function readHolder(dataDir: string): { pid: number; born: string; since: string; describe: string } | null {
  try {
    return JSON.parse(readFileSync(join(dataDir, holderName), 'utf8'));
  } catch {
    return null;
  }
}
