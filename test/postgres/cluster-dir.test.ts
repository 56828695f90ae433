import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { chooseClusterDir, clusterDirOf, switchCluster } from '../../src/postgres/cluster-dir.ts';

test('a data directory that changed to another cluster keeps it when it is copied', (t) => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'naru-cluster-dir-')));
  t.after(() => rmSync(root, { recursive: true }));
  const [original, copy] = [join(root, 'data'), join(root, 'copy')];
  const choose = (dataDir: string): string => chooseClusterDir(dataDir, null, root, () => {});
  mkdirSync(join(original, 'postgres'), { recursive: true });
  mkdirSync(join(original, 'postgres-18'));
  assert.equal(choose(original), join(original, 'postgres'));
  switchCluster(original, join(original, 'postgres-18'));
  assert.equal(clusterDirOf(original), join(original, 'postgres-18'));
  assert.equal(choose(original), join(original, 'postgres-18'));
  cpSync(original, copy, { recursive: true });
  assert.equal(choose(copy), join(copy, 'postgres-18'));

  rmSync(join(copy, 'postgres-18'), { recursive: true });
  assert.throws(() => choose(copy), /names the database in \S+postgres-18, which does not exist: restore it/);
});
