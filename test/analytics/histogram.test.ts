/** Percentiles of merged histograms, beside exact ones. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { bucketOf, bucketSql, centreOf, percentile } from '../../src/analytics/histogram.ts';
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

function histogramOf(values: readonly number[]) {
  const counts = new Map<number, bigint>();
  for (const value of values) counts.set(bucketOf(value), (counts.get(bucketOf(value)) ?? 0n) + 1n);
  const sorted = [...counts].sort(([a], [b]) => a - b);
  return { at: sorted.map(([at]) => at), n: sorted.map(([, n]) => n) };
}

test('a percentile of a histogram is within 5.2 % of the exact one', () => {
  const values = fc.array(fc.double({ min: 0.1, max: 3_600_000, noNaN: true }), {
    minLength: 1,
    maxLength: 200,
  });
  fc.assert(
    fc.property(values, fc.constantFrom(0.5, 0.95, 0.99), (all, share) => {
      const exact = all.toSorted((a, b) => a - b)[Math.ceil(all.length * share) - 1] ?? 0;
      const found = percentile(histogramOf(all), share) ?? 0;
      assert.ok(Math.abs(found / exact - 1) < 0.052, `${found} for ${exact}`);
    }),
    { seed: testSeed },
  );
});

test('nothing has no percentile', () => {
  assert.equal(percentile({ at: [], n: [] }, 0.5), null);
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
