/**
 * `npm run test:python-clients`: clients from PyPI use Naru. They are not part of the installation:
 * each file of `test/python-clients/requirements` becomes a virtual environment in
 * `.cache/python-clients`, once per content of it (about 1.8 GB together). Each client has its own,
 * because they need different versions of `openai`.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { requirementsFolder, venvOf } from '../test/python-clients/venv.ts';

const root = join(import.meta.dirname, '..');
/** Python versions that all clients support: aider does not support 3.13. */
const pythons = ['python3.12', 'python3.11', 'python3'];
const isSupported = 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))';

const python = pythons.find((name) => spawnSync(name, ['-c', isSupported]).status === 0);
if (python === undefined) fail(`none of ${pythons.join(', ')} is Python 3.11 or 3.12 with the venv module`);
for (const file of readdirSync(requirementsFolder)) install(file, python);
process.exit(
  run(process.execPath, [
    join(root, 'scripts/test.ts'),
    'test/python-clients/python-clients.ts',
    ...process.argv.slice(2),
  ]),
);

/**
 * Installs wheels only, so no package script runs. The file has every dependency, so pip resolves
 * nothing.
 */
function install(file: string, interpreter: string): void {
  const requirements = join(requirementsFolder, file);
  const venv = venvOf(basename(file, '.txt'));
  const stampFile = join(venv, 'installed');
  const wanted = readFileSync(requirements, 'utf8');
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === wanted) return;
  console.error(`naru: installing the packages of ${file} (once)`);
  rmSync(venv, { recursive: true, force: true });
  mkdirSync(venv, { recursive: true });
  const flags = ['--quiet', '--no-deps', '--only-binary', ':all:', '--disable-pip-version-check'];
  const status =
    run(interpreter, ['-m', 'venv', venv]) ||
    run(join(venv, 'bin/pip'), ['install', ...flags, '--requirement', requirements]);
  if (status !== 0) fail(`${file} could not be installed; the package registry must be reachable this once`);
  writeFileSync(stampFile, wanted);
}

function run(command: string, args: readonly string[]): number {
  return spawnSync(command, args, { cwd: root, stdio: 'inherit' }).status ?? 1;
}

function fail(message: string): never {
  console.error(`naru: ${message}`);
  process.exit(1);
}
