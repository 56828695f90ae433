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

/** The process that answers for the whole server. Should there be several, each has a socket under its own name beside this one. */
const mainProcess = 'main';

/** The folder of the control sockets of a data directory: its owner's alone, whoever else may enter the data directory. */
function folderOf(dataDir: string): string {
  return join(dataDir, 'control');
}

/** Beside the sockets: where one is instead, when it could not be there. */
function pointerOf(dataDir: string): string {
  return join(folderOf(dataDir), `${mainProcess}.path`);
}

/**
 * Where the socket of a server on `dataDir` would be; null when nothing tells. A runtime folder that is not the owner's alone is
 * not believed: whoever made it could be somebody else, after a restart of the machine emptied /tmp. Throws what the file system
 * says when it may not be looked at.
 */
export function findSocket(dataDir: string): string | null {
  const pointed = readPointer(dataDir);
  if (pointed !== null) return isOfOwner(dirname(pointed), dataDir) ? pointed : null;
  const beside = join(folderOf(dataDir), `${mainProcess}.sock`);
  return fits(beside) ? beside : null;
}

/** Makes the folder of the control sockets, 0700. Throws when it cannot be made, or something else has its name. */
export function prepareFolder(dataDir: string): void {
  const folder = folderOf(dataDir);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (!lstatSync(folder).isDirectory()) throw new Error(`${folder} is not a folder`);
  chmodSync(folder, 0o700);
}

/**
 * The paths at which a socket may be tried, best first: in the data directory, else, when that path is too long or its file
 * system takes no sockets, in a runtime folder of one of `roots`; the one that a killed server left is taken again.
 */
export function* placesToTry(dataDir: string, roots: readonly string[]): Generator<string> {
  const beside = join(folderOf(dataDir), `${mainProcess}.sock`);
  if (fits(beside)) yield beside;
  const pointed = readPointer(dataDir);
  if (pointed !== null && isOfOwner(dirname(pointed), dataDir)) yield pointed;
  for (const root of roots) {
    if (!fits(join(root, 'naru-XXXXXX', `${mainProcess}.sock`))) continue;
    try {
      yield join(mkdtempSync(join(root, 'naru-')), `${mainProcess}.sock`);
    } catch {
      // The next one may be there and writable.
    }
  }
}

/** Remembers where the socket is when it is not in the data directory, and forgets it when it is. */
export function rememberPlace(dataDir: string, path: string): void {
  const pointer = pointerOf(dataDir);
  if (dirname(path) === folderOf(dataDir)) rmSync(pointer, { force: true });
  else {
    writeFileSync(`${pointer}.new`, `${path}\n`, { mode: 0o600 });
    renameSync(`${pointer}.new`, pointer);
  }
}

/** Removes a runtime folder that nothing is in any more; the folder in the data directory stays. */
export function removePlace(dataDir: string, path: string): void {
  if (dirname(path) === folderOf(dataDir)) return;
  try {
    rmSync(path, { force: true });
    rmdirSync(dirname(path));
  } catch {
    // What is left in it is of no harm to anybody.
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
