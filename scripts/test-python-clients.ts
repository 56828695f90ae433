/**
 * `npm run test:python-clients`: clients from PyPI use Naru. They are not part of the installation:
 * each file of `test/python-clients/requirements` becomes a virtual environment in
 * `.cache/python-clients`, once per content of it (about 1.8 GB together). Each client has its own,
 * because they need different versions of `openai`.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { requirementsFolder, venvOf } from '../test/python-clients/venv.ts';
import { installWheels } from './install-once.ts';

const root = join(import.meta.dirname, '..');

try {
  for (const file of readdirSync(requirementsFolder))
    installWheels(join(requirementsFolder, file), venvOf(basename(file, '.txt')));
  const tests = ['test/python-clients/python-clients.ts', ...process.argv.slice(2)];
  const args = [join(root, 'scripts/test.ts'), ...tests];
  process.exitCode = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status ?? 1;
} catch (error) {
  console.error(`naru: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
