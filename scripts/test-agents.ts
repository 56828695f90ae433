/**
 * `npm run test:agents`: agents from npm do a task on disk through Naru. They are not part of the
 * installation: the packages of `test/agents/packages/package-lock.json` are installed into
 * `.cache/agents`, once per content of it (about 1.8 GB).
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { agentsFolder } from '../test/agents/installed.ts';
import { npmCommand } from './npm.mjs';

const root = join(import.meta.dirname, '..');
const wanted = join(root, 'test/agents/packages');
const stampFile = join(agentsFolder, 'installed');

install();
process.exit(
  run(
    process.execPath,
    [join(root, 'scripts/test.ts'), 'test/agents/agents.ts', ...process.argv.slice(2)],
    root,
  ),
);

/** Installs the agents; exits on failure. */
function install(): void {
  const lock = readFileSync(join(wanted, 'package-lock.json'), 'utf8');
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === lock) return;
  console.error('naru: installing the agents of test/agents/packages/package-lock.json (once)');
  // The next npm treats partly unpacked packages of an interrupted one as complete.
  rmSync(agentsFolder, { recursive: true, force: true });
  mkdirSync(agentsFolder, { recursive: true });
  for (const file of ['package.json', 'package-lock.json', '.npmrc'])
    copyFileSync(join(wanted, file), join(agentsFolder, file));
  const [command, ...before] = npmCommand();
  const status = run(command, [...before, 'install', '--no-save', '--loglevel=error'], agentsFolder);
  if (status !== 0) {
    console.error('naru: cannot install the agents; the npm registry must be reachable');
    process.exit(1);
  }
  writeFileSync(stampFile, lock);
}

function run(command: string, args: readonly string[], cwd: string): number {
  return spawnSync(command, args, { cwd, stdio: 'inherit' }).status ?? 1;
}
