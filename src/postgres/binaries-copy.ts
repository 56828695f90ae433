import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { makeFolder } from '../store/make-folder.ts';
import { codeOf } from './errors.ts';
import { barrier, onlyOursToWrite } from './path-rights.ts';
import type { ServerUser } from './server-user.ts';

/** What a private copy needs. */
export interface CopyOptions {
  /** The `native` folder of the platform package. */
  readonly native: string;
  readonly version: string;
  readonly uid: number;
  readonly user: ServerUser | null;
  /**
   * Whether a fresh copy runs here; the reason when it does not (another libc, a folder mounted
   * noexec).
   */
  readonly probe: (binDir: string) => Promise<string | null>;
}

const manifestName = 'naru-manifest.json';

/**
 * A runnable copy of the platform package below `root`, made at the first call and reused later;
 * returns its `bin`. A copy, because npm runs no install script (the `.so` links are missing),
 * because a dropped user cannot read a repository in a 0700 home, and because `npm ci` would remove
 * the files of a running server. Nothing is executed that users other than us and root could have
 * written. Throws with the reason when `root` is not usable.
 */
export async function privateCopy(root: string, options: CopyOptions): Promise<string> {
  if (makeFolder(root)) chmodSync(root, 0o755);
  const home = realpathSync(root);
  if (!onlyOursToWrite(home, options.uid)) throw new Error(`${root} can be changed by other users`);
  const closed = options.user === null ? null : barrier(home, options.user);
  if (closed !== null) throw new Error(`${options.user?.name} may not enter ${closed}`);
  const target = join(home, `postgresql-${options.version}`);
  if (isIntact(target, options.uid)) return join(target, 'bin');
  const fresh = mkdtempSync(join(home, '.new-'));
  try {
    // The probe runs as the dropped user, who must be able to enter.
    chmodSync(fresh, 0o755);
    const copy = join(fresh, 'copy');
    writeFileSync(
      join(fresh, manifestName),
      JSON.stringify(Object.fromEntries(copyTree(options.native, copy, ''))),
    );
    renameSync(join(fresh, manifestName), join(copy, manifestName));
    const fault = await options.probe(join(copy, 'bin'));
    if (fault !== null) throw new Error(`its programs do not run in ${root}: ${fault}`);
    install(copy, target, fresh, options.uid);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
  return join(target, 'bin');
}

/**
 * The programs of a major version that an earlier Naru copied below `root`, the newest first: they
 * run a cluster that the package of this Naru is too new for.
 */
export function keptCopies(root: string, major: number, uid: number): readonly string[] {
  try {
    const home = realpathSync(root);
    if (!onlyOursToWrite(home, uid)) return [];
    return readdirSync(home)
      .filter((name) => name.startsWith(`postgresql-${major}.`))
      .sort((one, other) => other.localeCompare(one, 'en', { numeric: true }))
      .map((name) => join(home, name))
      .filter((copy) => isIntact(copy, uid))
      .map((copy) => join(copy, 'bin'));
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return [];
    throw thrown;
  }
}

/** Other processes may install the same copy at the same time: the first one stays. */
function install(copy: string, target: string, fresh: string, uid: number): void {
  if (existsSync(target) && !isIntact(target, uid)) renameSync(target, join(fresh, 'damaged'));
  try {
    renameSync(copy, target);
  } catch (thrown) {
    if (!isIntact(target, uid)) throw thrown;
  }
}

/**
 * Whether the copy is complete: cleaners of temporary folders delete single files, and a crash can
 * truncate files.
 */
function isIntact(target: string, uid: number): boolean {
  try {
    if (!onlyOursToWrite(target, uid)) return false;
    const manifest: unknown = JSON.parse(readFileSync(join(target, manifestName), 'utf8'));
    return (
      typeof manifest === 'object' &&
      manifest !== null &&
      Object.entries(manifest).every(([path, size]) => lstatSync(join(target, path)).size === size)
    );
  } catch {
    return false;
  }
}

/**
 * Copies what a server needs (no static libraries, no headers) and makes the links; returns each
 * file with its size.
 */
function copyTree(native: string, copy: string, folder: string): readonly (readonly [string, number])[] {
  mkdirSync(join(copy, folder), { mode: 0o755 });
  chmodSync(join(copy, folder), 0o755);
  const made = readdirSync(join(native, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory())
      return ['include', 'pkgconfig'].includes(entry.name) ? [] : copyTree(native, copy, path);
    if (entry.name.endsWith('.a')) return [];
    const to = join(copy, path);
    if (entry.isSymbolicLink()) {
      symlinkSync(basename(readlinkSync(join(native, path))), to);
    } else {
      copyFileSync(join(native, path), to, constants.COPYFILE_FICLONE);
      chmodSync(to, path.startsWith('bin/') || /\.(so|dylib)/.test(path) ? 0o755 : 0o644);
    }
    return [[path, lstatSync(to).size] as const];
  });
  return folder === '' ? [...made, ...makeLinks(native, copy)] : made;
}

/**
 * Makes the links that the package's install script would have made: pg-symlinks.json lists them,
 * each within one folder.
 */
function makeLinks(native: string, copy: string): readonly (readonly [string, number])[] {
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return [];
  const links = JSON.parse(readFileSync(list, 'utf8')) as readonly { source: string; target: string }[];
  return links.flatMap(({ source, target }) => {
    const path = join(dirname(target).replace(/^native(\/|$)/, ''), basename(target));
    if (existsSync(join(copy, path))) return [];
    symlinkSync(basename(source), join(copy, path));
    return [[path, lstatSync(join(copy, path)).size] as const];
  });
}
