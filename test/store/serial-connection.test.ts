import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Client } from 'pg';
import { isConnectionLoss } from '../../src/store/connection.ts';
import type { Database } from '../../src/store/database.ts';
import { openTestDatabase } from '../harness/database.ts';

async function open(t: TestContext): Promise<Database> {
  const database = await openTestDatabase(t, { poolSize: 2, template: null });
  await database.query('CREATE TABLE charge (id int PRIMARY KEY)');
  return database;
}

/** Commits a row once, and loses the connection before the client knows. */
function settlementThatIsLost(database: Database, times: number): (client: Client) => Promise<string> {
  let lost = 0;
  return async (client) => {
    const { rowCount } = await client.query('INSERT INTO charge VALUES (1) ON CONFLICT DO NOTHING');
    if (lost === times) return rowCount === 0 ? 'was there' : 'is new';
    lost += 1;
    const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
    await database.query('SELECT pg_terminate_backend($1)', [rows[0].pid]);
    // The server's notice, or a socket that is closed.
    for (;;) await client.query('SELECT 1');
  };
}

test('a settlement in doubt is repeated before anything that waits for its turn', async (t) => {
  const database = await open(t);
  const order: string[] = [];
  const settled = database.placement
    .settle(1, settlementThatIsLost(database, 1), isConnectionLoss)
    .then((outcome) => order.push(outcome));
  const read = database.serial.run(async (sql) => {
    order.push(`read ${(await sql.query('SELECT FROM charge')).length}`);
  });
  await Promise.all([settled, read]);
  assert.deepEqual(order, ['was there', 'read 1']);
});

test('a settlement in doubt is repeated once; one whose error leaves no doubt is not', async (t) => {
  const database = await open(t);
  await assert.rejects(database.placement.settle(1, settlementThatIsLost(database, 2), isConnectionLoss));
  let calls = 0;
  const refused = async (): Promise<never> => {
    calls += 1;
    throw new Error('refused');
  };
  await assert.rejects(database.placement.settle(1, refused, isConnectionLoss), /refused/);
  await assert.rejects(database.placement.settle(1, refused), /refused/);
  assert.equal(calls, 2);
  assert.deepEqual(await database.serial.run((sql) => sql.query('SELECT id FROM charge')), [{ id: 1 }]);
});
