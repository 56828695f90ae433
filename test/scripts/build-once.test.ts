import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { hashOf } from '../../scripts/build-once.mjs';
import { until } from '../harness/until.ts';

let root = '';
before(() => {
  root = mkdtempSync(join(tmpdir(), 'naru-sources-'));
  mkdirSync(join(root, 'src/deep'), { recursive: true });
  for (const file of ['package-lock.json', 'src/a.ts', 'src/deep/b.ts'])
    writeFileSync(join(root, file), 'one');
});
after(() => rmSync(root, { recursive: true, force: true }));

test('the hash of the sources changes with a name and a text, and with nothing else', async () => {
  const first = hashOf(root, ['src']);
  utimesSync(join(root, 'src/a.ts'), 1, 1);
  assert.equal(hashOf(root, ['src']), first);
  writeFileSync(join(root, 'src/deep/b.ts'), 'two');
  const second = hashOf(root, ['src']);
  writeFileSync(join(root, 'src/deep/b.ts'), 'one');
  assert.equal(hashOf(root, ['src']), first);
  writeFileSync(join(root, 'src/deep/c.ts'), '');
  const third = hashOf(root, ['src']);
  assert.equal(new Set([first, second, third]).size, 3);
  rmSync(join(root, 'src/deep/c.ts'));
  // Once the files have rested, the hash is stored; a change is still seen.
  const stored = join(root, '.cache/hashes/src');
  await until('the hash is stored', () => hashOf(root, ['src']) === first && existsSync(stored), 20_000);
  assert.equal(hashOf(root, ['src']), first);
  writeFileSync(join(root, 'src/a.ts'), 'two');
  assert.notEqual(hashOf(root, ['src']), first);
});
