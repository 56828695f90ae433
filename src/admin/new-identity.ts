import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type CliPaths, settingsOf } from '../app/config-source.ts';
import { holdAfterCommands } from '../app/database.ts';
import type { ProcessContext } from '../app/process-context.ts';
import { OperatorError } from '../errors/operator-error.ts';
import { nodeDir } from '../nodes/node-dir.ts';
import { commandHolder } from '../postgres/data-dir-lock.ts';
import { lockWorkerDir, workerDirs } from '../postgres/worker-dir.ts';

/** A data directory, or a worker's part of it, with a new identity. */
export interface NewIdentity {
  readonly home: string;
  readonly before: string;
  readonly after: string;
  /** The folder that now has the journal of the old identity; null when there was none. */
  readonly setAside: string | null;
}

/**
 * `naru node new-identity`: gives a copied data directory, and each of its workers, its own
 * identity. The copied journal moves to a folder named for the old identity, which the next start
 * ignores: the original settles its own requests, and requests that were in flight at the copy may
 * have ended since. Throws an `OperatorError` when there is no identity or a server uses the
 * directory.
 */
export async function newIdentity(paths: CliPaths, proc: ProcessContext): Promise<readonly NewIdentity[]> {
  const { dataDir } = settingsOf(paths, proc);
  const homes = [dataDir, ...workerDirs(dataDir)].filter((home) => existsSync(join(home, 'node-id')));
  if (homes.length === 0)
    throw new OperatorError(`${dataDir} has no identity yet; naru up creates one on its first start`);
  const lock = await holdAfterCommands(dataDir, commandHolder(proc.pid));
  try {
    const changed: NewIdentity[] = [];
    for (const home of homes) {
      const held = home === dataDir ? null : await lockWorkerDir(home, proc.pid);
      try {
        changed.push(renew(home));
      } finally {
        held?.release();
      }
    }
    return changed;
  } finally {
    lock.release();
  }
}

/**
 * Moves the journal first: after an interruption a start finds the old identity and no journal, or
 * refuses to start.
 */
function renew(home: string): NewIdentity {
  const before = nodeDir(home);
  const setAside = setJournalAside(home, before);
  rmSync(join(home, 'node-id'));
  return { home, before, after: nodeDir(home), setAside };
}

/** The folder to which the journal was moved; null when it had no segments. */
function setJournalAside(home: string, identity: string): string | null {
  const journal = join(home, 'journal');
  if (!existsSync(journal)) return null;
  if (!readdirSync(journal).some((name) => /\.(journal|damaged|foreign)$/.test(name))) return null;
  for (let n = 1; ; n += 1) {
    const folder = join(home, `journal-of-${identity}${n === 1 ? '' : `-${n}`}`);
    if (existsSync(folder)) continue;
    renameSync(journal, folder);
    return folder;
  }
}
