/** A statement's limit counts the database's time, not that of a blocked loop. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClientWithTimeout } from '../../src/store/client-with-timeout.ts';
import { clientConfig, connect, disconnect, isConnectionLoss } from '../../src/store/connection.ts';
import { Database } from '../../src/store/database.ts';
import { createTestDatabase } from '../harness/database.ts';

const limitMs = 300;

function block(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

test('a response that arrived while the loop was blocked is accepted, on a connection and from a pool', async (t) => {
  const { address, drop } = await createTestDatabase();
  const database = new Database(address, 2, limitMs);
  const client = await connect(address, limitMs);
  t.after(async () => {
    await disconnect(client);
    await database.close();
    await drop();
  });
  await database.query('SELECT 1');
  for (const query of [
    () => client.query('SELECT 7 AS n').then(({ rows }) => rows),
    () => database.query('SELECT 7 AS n'),
    () => database.transaction((sql) => sql.query('SELECT 7 AS n')),
  ]) {
    const request = query();
    await new Promise(setImmediate);
    block(3 * limitMs);
    assert.deepEqual(await request, [{ n: 7 }]);
  }
});

test("an error of a statement is the server's, and its trace leads to who awaits it", async (t) => {
  const { address, drop } = await createTestDatabase();
  const client = await connect(address, limitMs);
  t.after(async () => {
    await disconnect(client);
    await drop();
  });
  const awaitsStatement = async (): Promise<unknown> => await client.query('SELECT 1 / 0');
  await assert.rejects(awaitsStatement(), (error: Error & { code?: string }) => {
    assert.equal(error.code, '22012');
    assert.match(error.stack ?? '', /awaitsStatement/);
    return true;
  });
  assert.equal((await client.query('SELECT 1')).rowCount, 1, 'the connection is still in use');
});

test('a statement without a response within its limit is a loss of the connection', async (t) => {
  const { address, drop } = await createTestDatabase();
  t.after(drop);
  const client = new ClientWithTimeout(clientConfig(address, limitMs));
  client.on('error', () => {});
  await client.connect();
  const beganMs = performance.now();
  await assert.rejects(client.query('SELECT pg_sleep(20)'), isConnectionLoss);
  // A timer may fire a millisecond early.
  assert.ok(performance.now() - beganMs >= limitMs - 2);
  await disconnect(client);
  const database = new Database(address, 1, limitMs);
  await assert.rejects(database.query('SELECT pg_sleep(20)'), isConnectionLoss);
  assert.deepEqual(await database.query('SELECT 1 AS n'), [{ n: 1 }], 'the next one has another connection');
  await database.close();
});
