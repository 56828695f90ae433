/**
 * A ledger from before the chains: the migration anchors the existing rows, and later rows are
 * chained to them.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { newGenerationUuid } from '../../src/ids/generation-id.ts';
import { expireCredit, grantCredit } from '../../src/ledger/credit.ts';
import { settleBatch } from '../../src/ledger/settlement-sql.ts';
import { verifyLedger } from '../../src/ledger/verification.ts';
import { krwOfMicro } from '../../src/money/krw.ts';
import { Database } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import type { Sql } from '../../src/store/sql.ts';
import { seoulDayAt } from '../../src/time/period.ts';
import { createTestDatabase } from '../harness/database.ts';
import { tamper } from '../harness/ledger-guards.ts';

const folder = join(import.meta.dirname, '../../src/store/migrations');
const nowMs = Date.UTC(2026, 10, 20, 3);
const day = `date '1970-01-01' + ${seoulDayAt(nowMs)}`;

/** Reverts the schema to before the chains. */
async function migrateTo13(sql: Sql): Promise<void> {
  await sql.query(
    'CREATE TABLE schema_migration (version integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())',
  );
  for (const file of readdirSync(folder)
    .sort()
    .filter((name) => name.endsWith('.sql') && name < '0014')) {
    const text = readFileSync(join(folder, file), 'utf8');
    await sql.query(text);
    await sql.query('INSERT INTO schema_migration (version, name, checksum) VALUES ($1, $2, $3)', [
      Number(file.slice(0, 4)),
      file.slice(0, -4),
      createHash('sha256').update(text).digest('hex'),
    ]);
  }
}

/**
 * Two accounts whose entries alternate, so that their ids have gaps: each with a lot, usage of 7
 * and a free request.
 */
async function oldLedger(sql: Sql): Promise<void> {
  const at = `to_timestamp(${nowMs / 1000})`;
  await sql.query(`
    INSERT INTO account (name, created_at) VALUES ('a', ${at}), ('b', ${at});
    INSERT INTO api_key (hash, account_id, kind, name, label, created_at)
      SELECT sha256(n::text::bytea), n, 1, 'k', 'k', ${at} FROM generate_series(1, 2) n;
    INSERT INTO account_balance (account_id, balance, credits, usage, entries, version) SELECT n, 93, 100, 7, 2, 2 FROM generate_series(1, 2) n;
    INSERT INTO credit_lot (account_id, kind, amount, remaining, expires_at, granted_at)
      SELECT n, 1, 100, 100, ${at} + interval '1 day', ${at} FROM generate_series(1, 2) n;
    INSERT INTO price_version (model, candidate, prompt, completion, request, cache_read, cache_write, published_at)
      VALUES ('m', 'c', 1000000, 0, 0, 0, 0, ${at}), ('m', 'c', 2000000, 0, 0, 0, 0, ${at});
    INSERT INTO catalogue_edition (offers, published_at) VALUES ('[{"model":"m","candidate":"c","price_version":2}]', ${at});
    INSERT INTO ledger (account_id, kind, amount, lot_id, idempotency_key, memo, created_at)
      SELECT n, 1, 100, n, 'k"' || n, 'ein Memo', ${at} FROM generate_series(1, 2) n`);
  for (const [account, cost] of [
    [1, 7],
    [2, 7],
    [1, 0],
    [2, 0],
  ] as const) {
    const uuid = newGenerationUuid(nowMs);
    await sql.query(
      `INSERT INTO generation (account_id, id, key_id, created_at, settled_at, day, status, model, prompt_tokens, completion_tokens, cost, price_version, detail)
       VALUES ($1, $2, $1, ${at}, ${at}, ${day}, 200, 'm', $3::int, 1, $3::int, 1, '{"a": "\\u00fc"}')`,
      [account, uuid, cost],
    );
    if (cost > 0)
      await sql.query(
        `INSERT INTO ledger (account_id, kind, amount, generation_id, key_id, created_at) VALUES ($1, 3, $2, $3, $1, ${at})`,
        [account, -cost, uuid],
      );
  }
  for (const [table, column, value] of [
    ['key_usage_day', 'key_id', 'n'],
    ['app_usage_day', 'app_id', '0'],
    ['model_usage_day', 'model', "'m'"],
  ])
    await sql.query(
      `INSERT INTO ${table} (account_id, ${column}, day, cost, requests, prompt_tokens, completion_tokens)
       SELECT n, ${value}, ${day}, 7, 2, 7, 2 FROM generate_series(1, 2) n`,
    );
}

test('a ledger from before the chains is anchored unchanged, continues, and a later change of old entries is detected', async (t) => {
  const { address, drop } = await createTestDatabase(null);
  const database = new Database(address, 4);
  t.after(async () => {
    await database.close();
    await drop();
  });
  await database.transaction(migrateTo13);
  await database.transaction(oldLedger);
  assert.ok((await migrate(database)).includes('0014-ledger-chain'));
  const differences = async () => (await verifyLedger(database)).differences;
  assert.deepEqual(await differences(), []);

  const grant = { accountId: 1, kind: 'topup', idempotencyKey: null, memo: null } as const;
  await grantCredit(database, { ...grant, amount: krwOfMicro(50n), expiresAtMs: null }, nowMs + 1);
  const row = {
    ...{
      accountId: 2,
      keyId: 2,
      createdAtMs: nowMs,
      settledAtMs: nowMs,
      day: seoulDayAt(nowMs),
      status: 200,
    },
    ...{
      errorType: null,
      model: 'm',
      provider: 'p',
      finishReason: 'stop',
      promptTokens: 5,
      completionTokens: 1,
    },
    ...{ cost: 5n, priceVersion: 1, detail: '{}', app: null },
  };
  const rows = [row, row].map((each) => ({ ...each, uuid: newGenerationUuid(nowMs) }));
  await database.serial.run((_sql, client) => settleBatch(client, rows));
  assert.equal(await expireCredit(database, nowMs + 2 * 86_400_000), 2);
  assert.deepEqual(await differences(), []);
  const ids = await database.query<{ ids: string }>(
    "SELECT string_agg(id::text, ',' ORDER BY id) AS ids FROM ledger GROUP BY account_id ORDER BY account_id",
  );
  assert.deepEqual(
    ids.map((each) => each.ids),
    ['1,3,4,5', '2,4,5,6,7'],
    'old entries keep their numbers',
  );

  for (const [fault, undo] of [
    ["UPDATE ledger SET memo = 'x' WHERE id = 1", "UPDATE ledger SET memo = 'ein Memo' WHERE id = 1"],
    ['UPDATE ledger SET id = 2 WHERE id = 1', 'UPDATE ledger SET id = 1 WHERE account_id = 1 AND id = 2'],
    ['UPDATE generation SET status = 201 WHERE account_id = 1', 'UPDATE generation SET status = 200'],
    [
      'UPDATE credit_lot SET expires_at = NULL WHERE id = 1',
      "UPDATE credit_lot SET expires_at = granted_at + interval '1 day' WHERE id = 1",
    ],
    ['UPDATE price_version SET completion = 1 WHERE id = 2', 'UPDATE price_version SET completion = 0'],
  ] as const) {
    await tamper(database, fault);
    assert.notDeepEqual(await differences(), [], fault);
    await tamper(database, undo);
    assert.deepEqual(await differences(), [], undo);
  }
});
