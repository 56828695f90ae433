import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { syncDir } from '../store/sync-dir.ts';
import type { Binaries } from './binaries.ts';
import { codeOf, EmbeddedError, embeddedError } from './errors.ts';
import { type Environment, runCommand } from './run-command.ts';
import type { ServerUser } from './server-user.ts';
import { databaseUser } from './settings.ts';

/**
 * The major version that made a cluster; null when there is no cluster yet. Throws when the folder
 * contains something else.
 */
export function clusterMajor(clusterDir: string): number | null {
  try {
    return Number.parseInt(readFileSync(join(clusterDir, 'PG_VERSION'), 'utf8'), 10);
  } catch (thrown) {
    if (codeOf(thrown) !== 'ENOENT') throw thrown;
  }
  if (entriesOf(clusterDir).length > 0)
    throw new EmbeddedError(
      `${clusterDir} contains files that are not a PostgreSQL database: move them elsewhere`,
    );
  return null;
}

/**
 * Makes a cluster, completely or not at all: initdb works in a temporary folder that is renamed
 * when everything is on the disk. initdb's own fsync is kept; it costs 0.1–0.2 s of the 0.6–1.2 s
 * measured here.
 */
export async function createCluster(
  clusterDir: string,
  binaries: Binaries,
  user: ServerUser | null,
  env: Environment,
): Promise<void> {
  const home = dirname(clusterDir);
  const unfinished = `${basename(clusterDir)}.new-`;
  for (const name of entriesOf(home))
    if (name.startsWith(unfinished)) rmSync(join(home, name), { recursive: true, force: true });
  const fresh = join(home, `${unfinished}${randomBytes(4).toString('hex')}`);
  mkdirSync(fresh);
  chmodSync(fresh, 0o700);
  if (user !== null) chownSync(fresh, user.uid, user.gid);
  const initdb = join(binaries.binDir, 'initdb');
  const made = await runCommand(initdb, initdbArguments(fresh, binaries.major), {
    user,
    env,
    timeoutMs: 300_000,
  });
  if (!made.ok) {
    rmSync(fresh, { recursive: true, force: true });
    throw embeddedError(`the database could not be created in ${home}`, made.output);
  }
  renameSync(fresh, clusterDir);
  syncDir(home);
}

function initdbArguments(dir: string, major: number): readonly string[] {
  return [
    '--pgdata',
    dir,
    '--username',
    databaseUser,
    // The socket's folder has mode 0700: only we and root can reach it.
    '--auth-local=trust',
    '--auth-host=reject',
    '--encoding=UTF8',
    // Sorts by code point on every machine: no index breaks when the C library is updated.
    '--locale=C',
    ...(major >= 17 ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : []),
    '--data-checksums',
    '--no-instructions',
  ];
}

function entriesOf(dir: string): readonly string[] {
  try {
    return readdirSync(dir);
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return [];
    throw thrown;
  }
}
