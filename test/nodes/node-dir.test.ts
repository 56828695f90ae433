import assert from 'node:assert/strict';
import fs, { fstatSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { nodeDir } from '../../src/nodes/node-dir.ts';

/* The loss of power cannot be caused here, so the test watches what is synced, and when. */

test('the identity of a data directory is on disk, with its name, before it is used', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'naru-node-dir-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const file = join(dir, 'node-id');
  const { fsyncSync } = fs;
  const synced: string[] = [];
  t.mock.method(fs, 'fsyncSync', (fd: number) => {
    const isFile = fstatSync(fd).ino === statSync(file).ino;
    assert.ok(isFile || fstatSync(fd).ino === statSync(dir).ino);
    synced.push(isFile ? readFileSync(file, 'utf8').trim() : 'its directory');
    fsyncSync(fd);
  });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
  const identity = nodeDir(dir);
  assert.deepEqual(synced, [identity, 'its directory']);
  assert.equal(nodeDir(dir), identity, 'it stays');
  assert.equal(synced.length, 2, 'and is written once');
});
