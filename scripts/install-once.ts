/**
 * Packages that only a command of development needs: installed into `.cache`, once per content of
 * their list, without install scripts.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { npmCommand } from './npm.mjs';

const root = join(import.meta.dirname, '..');
/** Python versions that all listed packages support: aider does not support 3.13. */
const pythons = ['python3.12', 'python3.11', 'python3'];
const isSupported = 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))';

/**
 * Installs the npm packages of a folder with `package.json`, `package-lock.json` and `.npmrc`. Throws
 * when npm fails.
 */
export function installPackages(from: string, to: string): void {
  const list = join(from, 'package-lock.json');
  once(list, to, () => {
    for (const file of ['package.json', 'package-lock.json', '.npmrc'])
      copyFileSync(join(from, file), join(to, file));
    const [command, ...before] = npmCommand();
    return run(command, [...before, 'install', '--no-save', '--loglevel=error'], to);
  });
}

/**
 * Makes a virtual environment with the wheels of a list; no package script runs. The list has every
 * dependency, so pip resolves nothing. Throws when Python is missing or pip fails.
 */
export function installWheels(list: string, to: string): void {
  once(list, to, () => {
    const python = pythons.find((name) => spawnSync(name, ['-c', isSupported]).status === 0);
    if (python === undefined)
      throw new Error(`none of ${pythons.join(', ')} is Python 3.11 or 3.12 with the venv module`);
    const flags = ['--quiet', '--no-deps', '--only-binary', ':all:', '--disable-pip-version-check'];
    return (
      run(python, ['-m', 'venv', to], root) ||
      run(join(to, 'bin/pip'), ['install', ...flags, '--requirement', list], root)
    );
  });
}

function once(list: string, to: string, install: () => number): void {
  const stampFile = join(to, 'installed');
  const wanted = readFileSync(list, 'utf8');
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === wanted) return;
  const name = relative(root, list);
  console.error(`naru: installing the packages of ${name} (once)`);
  // The next npm treats partly unpacked packages of an interrupted one as complete.
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to, { recursive: true });
  if (install() !== 0)
    throw new Error(`cannot install the packages of ${name}; their registry must be reachable this once`);
  writeFileSync(stampFile, wanted);
}

function run(command: string, args: readonly string[], cwd: string): number {
  return spawnSync(command, args, { cwd, stdio: 'inherit' }).status ?? 1;
}
