import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { makeFolder } from '../store/make-folder.ts';
import { syncDir } from '../store/sync-dir.ts';
import { codeOf, EmbeddedError } from './errors.ts';
import { barrier } from './path-rights.ts';
import type { Progress } from './progress.ts';
import type { ServerUser } from './server-user.ts';

/**
 * In the data directory: the path of a cluster that is not in `postgres`. The name of a folder of
 * the data directory stays true when the directory is moved or copied.
 */
const pointerName = 'postgres.location';
/** Beside a cluster that is stored elsewhere: the data directory it belongs to. */
const ownerName = 'belongs-to';

/**
 * Where the cluster of a data directory is, or would be: `<dataDir>/postgres` unless a pointer file
 * says otherwise.
 */
export function clusterDirOf(dataDir: string): string {
  return pointerOf(dataDir) ?? join(dataDir, 'postgres');
}

/**
 * Makes the cluster reachable for `user` (who PostgreSQL runs as, when Naru is root), and returns
 * the cluster's folder, which may not exist yet. There are three cases. The user can enter the data
 * directory. Or the directory belongs to root alone; then it is opened to that user's group (0710:
 * a mode for "others" would expose our files to every user). Or a parent folder is closed, which we
 * do not open; then a new cluster goes below `reachableRoot` and a pointer file records it.
 */
export function chooseClusterDir(
  dataDir: string,
  user: ServerUser | null,
  reachableRoot: string,
  progress: Progress,
): string {
  const pointed = pointerOf(dataDir);
  if (pointed !== null && dirname(pointed) !== dataDir) return adoptPointed(dataDir, pointed);
  // It existed when it was chosen, unlike one elsewhere, whose place is recorded before it is made.
  if (pointed !== null && !existsSync(pointed)) throw gone(dataDir, pointed);
  const inside = pointed ?? join(dataDir, 'postgres');
  if (user === null || grantAccess(dataDir, user)) return inside;
  const closed = barrier(dataDir, user) ?? dataDir;
  if (existsSync(inside))
    throw new EmbeddedError(
      `PostgreSQL has to run as ${user.name}, who may not enter ${closed}: move the data directory, or open that folder to ${user.name}`,
    );
  const outside = makeOutside(dataDir, user, reachableRoot);
  progress(
    `the database goes to ${outside}, because PostgreSQL runs as ${user.name}, who may not enter ${closed}`,
  );
  return outside;
}

function grantAccess(dataDir: string, user: ServerUser): boolean {
  if (barrier(dataDir, user) === null) return true;
  if (barrier(dirname(dataDir), user) !== null) return false;
  const { uid, gid, mode } = statSync(dataDir);
  // A group that an administrator chose must not be replaced.
  if (uid !== 0 || gid !== 0) return false;
  chownSync(dataDir, 0, user.gid);
  chmodSync(dataDir, (mode & 0o7707) | 0o010);
  return barrier(dataDir, user) === null;
}

function makeOutside(dataDir: string, user: ServerUser, reachableRoot: string): string {
  try {
    if (makeFolder(reachableRoot)) chmodSync(reachableRoot, 0o711);
    const home = join(realpathSync(reachableRoot), `${basename(dataDir)}-${randomBytes(4).toString('hex')}`);
    mkdirSync(home);
    chmodSync(home, 0o711);
    const closed = barrier(home, user);
    if (closed !== null) throw new Error(`${user.name} may not enter ${closed} either`);
    const cluster = join(home, 'postgres');
    writeDurably(join(home, ownerName), `${dataDir}\n`);
    // The pointer is durable before the cluster is made; otherwise a crash could leave a database
    // that no start finds.
    writeDurably(join(dataDir, pointerName), `${cluster}\n`);
    return cluster;
  } catch (thrown) {
    throw new EmbeddedError(
      `PostgreSQL has to run as ${user.name}, who may not enter ${dataDir}, and ${reachableRoot} cannot take the database (${String(thrown)}): choose a data directory that ${user.name} can reach, or run Naru as an ordinary user`,
    );
  }
}

/**
 * A copied data directory still points at the database of the original: two owners of one database
 * must not start.
 */
function adoptPointed(dataDir: string, cluster: string): string {
  const ownerFile = join(dirname(cluster), ownerName);
  const owner = readLine(ownerFile);
  if (owner === null) throw gone(dataDir, cluster);
  if (owner !== dataDir) {
    if (existsSync(owner) && pointerOf(owner) === cluster)
      throw new EmbeddedError(
        `the database in ${cluster} belongs to ${owner}; ${dataDir} is a copy of it without its database`,
      );
    writeDurably(ownerFile, `${dataDir}\n`);
  }
  return cluster;
}

/** A database that is gone is not replaced by an empty one. */
function gone(dataDir: string, cluster: string): EmbeddedError {
  return new EmbeddedError(
    `${join(dataDir, pointerName)} names the database in ${cluster}, which does not exist: restore it, or remove that file to start with an empty database`,
  );
}

/**
 * Makes another cluster that of the data directory, in one step that a crash cannot halve. The
 * cluster is a neighbour of the one before, which stays as it is.
 */
export function switchCluster(dataDir: string, cluster: string): void {
  const line = dirname(cluster) === dataDir ? basename(cluster) : cluster;
  writeDurably(join(dataDir, pointerName), `${line}\n`);
}

function pointerOf(dataDir: string): string | null {
  const line = readLine(join(dataDir, pointerName));
  return line === null ? null : resolve(dataDir, line);
}

function readLine(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return null;
    throw thrown;
  }
}

function writeDurably(path: string, text: string): void {
  writeFileSync(`${path}.new`, text, { mode: 0o600, flush: true });
  renameSync(`${path}.new`, path);
  syncDir(dirname(path));
}
