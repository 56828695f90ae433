/**
 * A database from before the key directory: the migration finds every key again, and keeps the
 * leases of nodes.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { KeyHash } from '../../src/ids/api-key.ts';
import { findKeyByHash, findKeysById, insertKey } from '../../src/keys/keys-sql.ts';
import { Database } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import type { Sql } from '../../src/store/sql.ts';
import { createTestDatabase } from '../harness/database.ts';

const folder = join(import.meta.dirname, '../../src/store/migrations');
const hashOf = (n: number): KeyHash => createHash('sha256').update(`key ${n}`).digest('hex') as KeyHash;

async function migrateTo29(sql: Sql): Promise<void> {
  await sql.query(
    'CREATE TABLE schema_migration (version integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())',
  );
  for (const file of readdirSync(folder).sort()) {
    if (!file.endsWith('.sql') || file >= '0030') continue;
    const text = readFileSync(join(folder, file), 'utf8');
    await sql.query(text);
    await sql.query('INSERT INTO schema_migration (version, name, checksum) VALUES ($1, $2, $3)', [
      Number(file.slice(0, 4)),
      file.slice(0, -4),
      createHash('sha256').update(text).digest('hex'),
    ]);
  }
}

test('the migration to the key directory finds every key and keeps every lease', async (t) => {
  const testDatabase = await createTestDatabase(null);
  const database = new Database(testDatabase.address);
  t.after(async () => {
    await database.close();
    await testDatabase.drop();
  });
  await database.transaction(migrateTo29);
  await database.transaction(async (sql) => {
    await sql.query("INSERT INTO account (name, created_at) SELECT 'a', now() FROM generate_series(1, 3)");
    for (let n = 1; n <= 6; n += 1)
      await sql.query(
        "INSERT INTO api_key (hash, account_id, kind, name, label, created_at) VALUES ($1, $2, 1, 'k', 'k', now())",
        [Buffer.from(hashOf(n), 'hex'), 1 + (n % 3)],
      );
    // Of an account, of its key, and of a key that does not exist.
    await sql.query(
      'INSERT INTO spend_share (kind, subject, node_id, amount) VALUES (1, 2, 7, 50), (2, 4, 7, 30), (2, 99, 7, 1)',
    );
    await sql.query('INSERT INTO stale_hour (account_id, hour) VALUES (1, now()), (1, now())');
  });

  await migrate(database);

  for (let n = 1; n <= 6; n += 1) {
    const key = await findKeyByHash(database, hashOf(n));
    assert.deepEqual([key?.id, key?.accountId, key?.hash], [n, 1 + (n % 3), hashOf(n)]);
  }
  assert.deepEqual((await findKeysById(database, [2, 5, 99])).map(({ id }) => id).toSorted(), [2, 5]);
  assert.equal(await findKeyByHash(database, hashOf(7)), null);
  const shares = await database.query(
    'SELECT account_id, kind, subject, amount FROM spend_share ORDER BY kind',
  );
  assert.deepEqual(shares, [
    { account_id: 2n, kind: 1, subject: 2n, amount: 50n },
    { account_id: 2n, kind: 2, subject: 4n, amount: 30n },
  ]);
  assert.equal((await database.query('SELECT FROM stale_hour')).length, 2);
});

test('a hash belongs to one key of all accounts', async (t) => {
  const testDatabase = await createTestDatabase();
  const database = new Database(testDatabase.address);
  t.after(async () => {
    await database.close();
    await testDatabase.drop();
  });
  const key = {
    ...{ hash: hashOf(1), kind: 'inference' as const, name: 'k', label: 'k', createdAtMs: 0 },
    ...{ limitMicro: null, limitReset: 'never' as const, expiresAtMs: null },
  };
  await database.transaction((sql) => insertKey(sql, { ...key, accountId: 1 }));
  await assert.rejects(
    database.transaction((sql) => insertKey(sql, { ...key, accountId: 2 })),
    /key_directory_pkey/,
  );
  assert.equal((await database.query('SELECT FROM api_key')).length, 1);
});

test('a directory that names another key finds none', async (t) => {
  const testDatabase = await createTestDatabase();
  const database = new Database(testDatabase.address);
  t.after(async () => {
    await database.close();
    await testDatabase.drop();
  });
  const key = {
    ...{ kind: 'inference' as const, name: 'k', label: 'k', createdAtMs: 0, accountId: 1 },
    ...{ limitMicro: null, limitReset: 'never' as const, expiresAtMs: null },
  };
  for (const n of [1, 2]) await database.transaction((sql) => insertKey(sql, { ...key, hash: hashOf(n) }));
  await database.query('UPDATE key_directory SET key_id = 3 - key_id + 10');
  await database.query('UPDATE key_directory SET key_id = key_id - 10');
  assert.equal(await findKeyByHash(database, hashOf(1)), null);
});
