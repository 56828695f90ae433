/** Buckets of histograms, in the program and in the database. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { bucketOf, bucketSql, centreOf } from '../../src/generations/analytics/histogram.ts';
import { Database } from '../../src/store/database.ts';
import { createTestDatabase, type TestDatabase } from '../harness/database.ts';
import { testSeed } from '../harness/tier.ts';

let testDatabase: TestDatabase;
let database: Database;

before(async () => {
  testDatabase = await createTestDatabase();
  database = new Database(testDatabase.address, 1);
});
after(async () => {
  await database?.close();
  await testDatabase?.drop();
});

test('the centre of a bucket is within 5.2 % of its values', () => {
  fc.assert(
    fc.property(fc.double({ min: 0.1, max: 3_600_000, noNaN: true }), (value) => {
      const found = centreOf(bucketOf(value));
      assert.ok(Math.abs(found / value - 1) < 0.052, `${found} for ${value}`);
    }),
    { seed: testSeed },
  );
});

test('the database puts values into the same buckets', async () => {
  const values = [0, 0.01, 0.1, 1, 1.5, 7, 42, 99.9, 1_234, 600_000, 3_600_000];
  const rows = await database.query<{ bucket: number }>(
    `SELECT ${bucketSql('v')} AS bucket FROM unnest($1::float8[]) WITH ORDINALITY u (v, at) ORDER BY at`,
    [values],
  );
  assert.deepEqual(
    rows.map(({ bucket }) => bucket),
    values.map(bucketOf),
  );
  assert.ok(centreOf(bucketOf(42)) > 40);
});
