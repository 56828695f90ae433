import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Database, systemMeans } from '../../src/store/database.ts';
import { systemClock } from '../../src/time/clock.ts';
import { createTestDatabase } from '../harness/database.ts';

test('a connection that the server ends between two statements fails its transaction, not the process', async (t) => {
  const testDatabase = await createTestDatabase();
  const [database, other] = [new Database(testDatabase.address, 1), new Database(testDatabase.address, 1)];
  t.after(async () => {
    await database.close();
    await other.close();
    await testDatabase.drop();
  });
  let ended = 0;
  const work = database.transaction(async (sql) => {
    const [row] = await sql.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const isGone = async (): Promise<boolean> =>
      (await other.query('SELECT 1 FROM pg_stat_activity WHERE pid = $1', [row?.pid])).length === 0;
    await other.query('SELECT pg_terminate_backend($1::int)', [row?.pid]);
    while (!(await isGone())) await new Promise(setImmediate);
    // The server has sent its last bytes by now; each turn of the event loop reads what has
    // arrived.
    for (let turns = 0; turns < 5; turns += 1) await new Promise(setImmediate);
    ended += 1;
    await sql.query('SELECT 1');
  });
  await assert.rejects(work, /terminat|not queryable|Connection/);
  assert.equal(ended, 1);
  assert.deepEqual(await database.query('SELECT 1 AS one'), [{ one: 1 }]);
});

test('a read whose connection is lost is retried, however long it waited for its turn', async (t) => {
  const testDatabase = await createTestDatabase(null);
  let aheadMs = 0;
  const database = new Database(testDatabase.address, 1, null, {
    ...systemMeans,
    clock: { ...systemClock, monotonic: () => systemClock.monotonic() + aheadMs },
  });
  t.after(async () => {
    await database.close();
    await testDatabase.drop();
  });
  const earlier = database.serial.run(async (sql) => {
    const [row] = await sql.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    aheadMs = 10_000;
    await database.query('SELECT pg_terminate_backend($1::int)', [row?.pid]);
  });
  const read = database.readInOrder(null, (sql) => sql.query('SELECT 1 AS one'));
  await earlier;
  assert.deepEqual(await read, [{ one: 1 }]);
});
