import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

/** The longest path of a unix socket that every platform takes (Linux 107 bytes, macOS 103). */
const maxSocketPathBytes = 103;

/** The name of the socket of the main process. */
const mainProcess = 'main';

/**
 * The folder of the control sockets of a data directory. Only the owner can enter it, even if
 * others can enter the data directory.
 */
function folderOf(dataDir: string): string {
  return join(dataDir, 'control');
}

/** The file with the path of a socket that could not be in that folder. */
function pointerOf(dataDir: string): string {
  return join(folderOf(dataDir), `${mainProcess}.path`);
}

/**
 * The expected socket path of a server on `dataDir`; null when unknown. Ignores a runtime folder
 * that other users can enter: after a reboot emptied /tmp, another user may have created it. Throws
 * file system errors such as a missing permission.
 */
export function findSocket(dataDir: string): string | null {
  const pointed = readPointer(dataDir);
  if (pointed !== null) return isOfOwner(dirname(pointed), dataDir) ? pointed : null;
  const beside = join(folderOf(dataDir), `${mainProcess}.sock`);
  return fits(beside) ? beside : null;
}

/**
 * Creates the folder of the control sockets, mode 0700. Throws when that fails or another file has
 * its name.
 */
export function prepareFolder(dataDir: string): void {
  const folder = folderOf(dataDir);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (!lstatSync(folder).isDirectory()) throw new Error(`${folder} is not a folder`);
  chmodSync(folder, 0o700);
}

/**
 * The paths at which to try a socket, best first. The first is in the data directory. If that path
 * is too long or its file system has no sockets, the socket is in a runtime folder under one of
 * `roots`; the folder of a killed server is reused.
 */
export function* candidatePaths(dataDir: string, roots: readonly string[]): Generator<string> {
  const beside = join(folderOf(dataDir), `${mainProcess}.sock`);
  if (fits(beside)) yield beside;
  const pointed = readPointer(dataDir);
  if (pointed !== null && isOfOwner(dirname(pointed), dataDir)) yield pointed;
  for (const root of roots) {
    if (!fits(join(root, 'naru-XXXXXX', `${mainProcess}.sock`))) continue;
    try {
      yield join(mkdtempSync(join(root, 'naru-')), `${mainProcess}.sock`);
    } catch {
      // The next root may be writable.
    }
  }
}

/** Records the path of a socket outside the data directory; removes the record of one inside. */
export function recordSocketPath(dataDir: string, path: string): void {
  const pointer = pointerOf(dataDir);
  if (dirname(path) === folderOf(dataDir)) rmSync(pointer, { force: true });
  else {
    writeFileSync(`${pointer}.new`, `${path}\n`, { mode: 0o600 });
    renameSync(`${pointer}.new`, pointer);
  }
}

/** Removes the runtime folder of a socket; the folder in the data directory stays. */
export function removeSocket(dataDir: string, path: string): void {
  if (dirname(path) === folderOf(dataDir)) return;
  try {
    rmSync(path, { force: true });
    rmdirSync(dirname(path));
  } catch {
    // A leftover folder does no harm.
  }
}

function readPointer(dataDir: string): string | null {
  try {
    const path = readFileSync(pointerOf(dataDir), 'utf8').trim();
    return path.startsWith('/') && fits(path) ? path : null;
  } catch (thrown) {
    const { code } = thrown as { code?: unknown };
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw thrown;
  }
}

function fits(path: string): boolean {
  return Buffer.byteLength(path) <= maxSocketPathBytes;
}

function isOfOwner(dir: string, dataDir: string): boolean {
  const stat = lstatSync(dir, { throwIfNoEntry: false });
  const owner = lstatSync(folderOf(dataDir), { throwIfNoEntry: false });
  return stat?.isDirectory() === true && stat.uid === owner?.uid && (stat.mode & 0o077) === 0;
}
