/**
 * `npm run test:engines`: real engines run as slots of Naru, and a real gateway as its upstream. They
 * are not part of the installation: each file of `test/engines/requirements` becomes a virtual
 * environment in `.cache/engines`, once per content of it: about 5 GB together, because PyPI has
 * PyTorch for Linux with its GPU libraries only.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { engineVenv, requirementsFolder } from '../test/engines/installed.ts';
import { installWheels } from './install-once.ts';

const root = join(import.meta.dirname, '..');

try {
  for (const file of readdirSync(requirementsFolder)) {
    const list = join(requirementsFolder, file);
    const packages = readFileSync(list, 'utf8').trim().split('\n');
    const main = packages.filter((line) => /^(?:xllamacpp|litellm|transformers|torch)==/.test(line));
    const folder = engineVenv(basename(file, '.txt'));
    console.error(`naru: ${main.join(', ')} (${packages.length} packages) in ${folder}`);
    installWheels(list, folder);
  }
  makeTinyModel(engineVenv('transformers'));
  const args = [join(root, 'scripts/test.ts'), 'test/engines/engines.ts', ...process.argv.slice(2)];
  process.exitCode = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status ?? 1;
} catch (error) {
  console.error(`naru: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}

/** No model can be downloaded: the one of `transformers serve` is made by its own packages. */
function makeTinyModel(venv: string): void {
  const folder = join(venv, 'tiny-model');
  if (existsSync(join(folder, 'model.safetensors'))) return;
  const args = [join(root, 'test/engines/tiny-model.py'), folder];
  const { status } = spawnSync(join(venv, 'bin/python'), args, { stdio: 'inherit' });
  if (status !== 0) throw new Error(`cannot make the model of ${folder}`);
}
