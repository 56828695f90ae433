import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { OneServer } from '../../src/store/placement/one-server.ts';
import { shardsFrom } from '../../src/store/placement/shards.ts';
import { hashOfAccount } from '../../src/wire/ids/account-hash.ts';
import { openTestDatabase } from '../harness/database.ts';

test('the hash of an account is that of the database, and plain PostgreSQL is one server', async (t) => {
  const database = await openTestDatabase(t, { template: null });
  const special = [0, 1, 2, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 32 + 1, 2 ** 53 - 1, -1, -(2 ** 40)];
  const drawn = fc.sample(fc.maxSafeInteger(), { numRuns: 2_000, seed: 1 });
  const ids = [...special, ...drawn, ...Array.from({ length: 2_000 }, (_, n) => n)];
  const rows = await database.query<{ hash: number }>(
    'SELECT hashint8(id) AS hash FROM unnest($1::bigint[]) WITH ORDINALITY n (id, at) ORDER BY at',
    [ids],
  );
  assert.deepEqual(
    ids.map(hashOfAccount),
    rows.map(({ hash }) => hash),
  );
  assert.ok((await database.place()) instanceof OneServer);
});

test('an account is in the shard whose range has its hash', () => {
  const width = 2 ** 32 / 32;
  const shards = shardsFrom(Array.from({ length: 32 }, (_, n) => -(2 ** 31) + n * width));
  const used = new Set<number>();
  for (let id = 1; id < 2_000; id += 1) {
    const shard = shards.of(id);
    assert.equal(shard, Math.floor((hashOfAccount(id) + 2 ** 31) / width));
    used.add(shard);
  }
  assert.equal(used.size, 32);
});
