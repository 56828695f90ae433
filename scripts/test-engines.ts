/**
 * `npm run test:engines`: real engines run as slots of Naru, and a real gateway as its upstream. They
 * are not part of the installation: each file of `test/engines/requirements` becomes a virtual
 * environment in `.cache/engines`, once per content of it (about 0.9 GB together).
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { engineVenv, requirementsFolder } from '../test/engines/installed.ts';
import { installWheels } from './install-once.ts';

const root = join(import.meta.dirname, '..');

try {
  for (const file of readdirSync(requirementsFolder)) {
    const list = join(requirementsFolder, file);
    const packages = readFileSync(list, 'utf8').trim().split('\n');
    const main = packages.filter((line) => /^(?:xllamacpp|litellm)==/.test(line));
    const folder = engineVenv(basename(file, '.txt'));
    console.error(`naru: ${main.join(', ')} (${packages.length} packages) in ${folder}`);
    installWheels(list, folder);
  }
  const args = [join(root, 'scripts/test.ts'), 'test/engines/engines.ts', ...process.argv.slice(2)];
  process.exitCode = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status ?? 1;
} catch (error) {
  console.error(`naru: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
