import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestDatabase } from '../harness/database.ts';

// security:6
test('a connection that is lost inside a transaction fails that transaction, and nothing else', async (t) => {
  const database = await openTestDatabase(t, { poolSize: 2, template: null });
  const end = 'SELECT pg_terminate_backend($1)';
  const pid = 'SELECT pg_backend_pid() AS pid';
  await assert.rejects(
    database.transaction(async (sql) => {
      const [self] = await sql.query<{ pid: number }>(pid);
      await sql.query(end, [self?.pid]);
    }),
    /terminating connection/,
    'during a statement',
  );
  await assert.rejects(
    database.transaction(async (sql) => {
      const [self] = await sql.query<{ pid: number }>(pid);
      await database.query(end, [self?.pid]);
      // Between two statements: this connection has received the server's notice, or writes to none.
      const gone = 'SELECT FROM pg_stat_activity WHERE pid = $1';
      while ((await database.query(gone, [self?.pid])).length > 0);
      await sql.query('SELECT 1');
    }),
    /not queryable|terminat|EPIPE|ECONNRESET/i,
    'between two statements',
  );
  assert.deepEqual(await database.query('SELECT 1 AS one'), [{ one: 1 }]);
});
