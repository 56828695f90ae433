/** The directory of keys: a key is found without its account. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { KeyHash } from '../../src/accounts/api-key.ts';
import { findKeyByHash, insertKey } from '../../src/accounts/keys-sql.ts';
import { openTestDatabase } from '../harness/database.ts';

const hashOf = (n: number): KeyHash => createHash('sha256').update(`key ${n}`).digest('hex') as KeyHash;

test('a hash belongs to one key of all accounts', async (t) => {
  const database = await openTestDatabase(t);
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
  const database = await openTestDatabase(t);
  const key = {
    ...{ kind: 'inference' as const, name: 'k', label: 'k', createdAtMs: 0, accountId: 1 },
    ...{ limitMicro: null, limitReset: 'never' as const, expiresAtMs: null },
  };
  for (const n of [1, 2]) await database.transaction((sql) => insertKey(sql, { ...key, hash: hashOf(n) }));
  await database.query('UPDATE key_directory SET key_id = 3 - key_id + 10');
  await database.query('UPDATE key_directory SET key_id = key_id - 10');
  assert.equal(await findKeyByHash(database, hashOf(1)), null);
});
