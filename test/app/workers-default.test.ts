import assert from 'node:assert/strict';
import { test } from 'node:test';
import { workersFor } from '../../src/app/up.ts';
import { Secret } from '../../src/config/secret.ts';

test('without --workers there is one for each core but one, where the database has other cores', () => {
  const external = { database: { url: new Secret('postgres://db.test/naru'), poolSize: 10 } };
  const embedded = { database: { url: 'embedded', poolSize: 10 } } as const;
  assert.deepEqual(
    [1, 2, 3, 4, 8, 9, 64].map((cores) => workersFor(external, cores)),
    [1, 1, 1, 3, 7, 8, 8],
  );
  assert.deepEqual(
    [1, 8, 64].map((cores) => workersFor(embedded, cores)),
    [1, 1, 1],
  );
});
