/**
 * `npm run test:agents`: agents from npm do a task on disk through Naru. They are not part of the
 * installation: the packages of `test/agents/packages/package-lock.json` are installed into
 * `.cache/agents`, once per content of it (about 1.8 GB).
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { agentsFolder } from '../test/agents/installed.ts';
import { installPackages } from './install-once.ts';

const root = join(import.meta.dirname, '..');

try {
  installPackages(join(root, 'test/agents/packages'), agentsFolder);
  const args = [join(root, 'scripts/test.ts'), 'test/agents/agents.ts', ...process.argv.slice(2)];
  process.exitCode = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status ?? 1;
} catch (error) {
  console.error(`naru: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
