import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { requirementsFolder } from '../python-clients/venv.ts';
import { clients } from '../works-with/clients.ts';

/* The clients of the generated page are those that the tests set up. */

const root = join(import.meta.dirname, '../..');

test('every client that a test imports from npm is documented', () => {
  const installed = clients.filter((client) => client.versionByHand === undefined);
  const shown = new Set(
    installed.filter(({ registry }) => registry === 'npm').map((client) => client.package),
  );
  // The two parts of a client beside the package that is documented.
  const parts = ['ai', '@langchain/core'];
  const matrix = ['ai-sdk', 'langchain', 'openai', 'openrouter-sdk-chat'].map((name) =>
    readFileSync(join(root, `test/clients/${name}.test.ts`), 'utf8'),
  );
  const imported = matrix.flatMap((text) =>
    [...text.matchAll(/from '(@[\w-]+\/[\w-]+|[a-z][\w-]*)(?:\/[^']*)?'/g)].map((match) => match[1] ?? ''),
  );
  const agents = JSON.parse(readFileSync(join(root, 'test/agents/packages/package.json'), 'utf8'));
  const all = new Set(
    [...imported, ...Object.keys(agents.dependencies)].filter((name) => !parts.includes(name)),
  );
  assert.deepEqual([...all].toSorted(), [...shown].toSorted());
});

test('every client that a test installs from PyPI is documented, with exact versions of its dependencies', () => {
  const shown = clients.filter(({ registry }) => registry === 'PyPI').map((client) => client.package);
  const files = readdirSync(requirementsFolder);
  assert.deepEqual(files.map((file) => basename(file, '.txt')).toSorted(), shown.toSorted());
  for (const file of files)
    for (const pin of readFileSync(join(requirementsFolder, file), 'utf8').trimEnd().split('\n'))
      assert.match(pin, /^[\w.-]+(\[[\w,-]+\])?==[\w.+-]+( ; .+)?$/, file);
});

test('the lockfile of the agents names exact versions and no registry', () => {
  const folder = join(root, 'test/agents/packages');
  const { dependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  for (const version of Object.values(dependencies)) assert.match(String(version), /^\d+\.\d+\.\d+$/);
  const { packages } = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'));
  for (const [name, version] of Object.entries(dependencies))
    assert.equal(packages[`node_modules/${name}`]?.version, version);
  assert.ok(Object.values(packages).every((each) => !('resolved' in (each as object))));
  assert.ok(existsSync(join(folder, '.npmrc')));
});
