import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { publishPrices } from '../../src/catalogue/publish.ts';
import { ensurePartitions } from '../../src/generations/partitions.ts';
import { partitionLock } from '../../src/generations/partitions-sql.ts';
import { createDemoAccount } from '../../src/operations/demo-account.ts';
import { createOperatorService } from '../../src/operations/operator-service.ts';
import type { Database } from '../../src/store/database.ts';
import { systemClock } from '../../src/time/clock.ts';
import { openTestDatabase } from '../harness/database.ts';
import { testConfig } from '../harness/gateway.ts';

async function databaseOf(t: TestContext): Promise<Database> {
  const database = await openTestDatabase(t);
  return database;
}

test('of several nodes that start at once on an empty database one creates the demo account', async (t) => {
  const database = await databaseOf(t);
  const context = { clock: systemClock, keyPrefix: 'sk-naru-', close: async () => {} };
  const operator = createOperatorService(database, context);
  const made = await Promise.all([1, 2, 3].map(() => createDemoAccount(operator, database)));
  assert.equal(made.filter((demo) => demo !== null).length, 1);
  const accounts = await operator.readAccounts();
  assert.equal(accounts.length, 1);
  assert.equal((await operator.readKeys(accounts[0]?.accountId ?? 0)).length, 2);
});

test('a node starts while the records of a month are being dropped, however long that takes', async (t) => {
  const database = await databaseOf(t);
  await ensurePartitions(database, systemClock.now());
  const over = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const dropping = database.transaction(async (sql) => {
    await sql.query('SELECT pg_advisory_xact_lock($1)', [partitionLock]);
    held.resolve();
    await over.promise;
  });
  await held.promise;
  const config = testConfig({ models: [{ id: 'test/a', upstreams: ['http://127.0.0.1:1'] }] });
  const started = Promise.all([
    ensurePartitions(database, systemClock.now()),
    publishPrices(database, config, { atMs: systemClock.now(), announce: 'edition' }),
  ]);
  const first = await Promise.race([
    started.then(() => 'started'),
    database.query('SELECT pg_sleep(1)').then(() => 'waits'),
  ]);
  over.resolve();
  await Promise.all([dropping, started]);
  assert.equal(first, 'started');
});
