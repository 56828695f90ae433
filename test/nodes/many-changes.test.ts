import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { KeyHash } from '../../src/accounts/api-key.ts';
import { openAccounting } from '../../src/app/accounting.ts';
import { silentLog } from '../../src/log/log.ts';
import { krwOfMicro } from '../../src/money/krw.ts';
import { recordChanges } from '../../src/store/changes.ts';
import { Database } from '../../src/store/database.ts';
import { createTestDatabase } from '../harness/database.ts';
import { testConfig } from '../harness/gateway.ts';
import { TestClock } from '../harness/test-clock.ts';
import { byTier } from '../harness/tier.ts';
import { until } from '../harness/until.ts';

const keyCount = byTier(1_000, 5_000);

test('thousands of keys that change at once are read again together', async (t) => {
  const { address, drop } = await createTestDatabase();
  const database = new Database(address, 4);
  await database.place();
  const dataDir = mkdtempSync(join(tmpdir(), 'naru-many-'));
  const accounting = await openAccounting({
    config: testConfig({}),
    database,
    dataDir,
    clock: new TestClock(),
    log: silentLog,
    debtFloor: () => krwOfMicro(0n),
  });
  t.after(async () => {
    await accounting.close();
    await database.close();
    await drop();
    rmSync(dataDir, { recursive: true });
  });
  const [account] = await database.query<{ id: bigint }>(
    "INSERT INTO account (name, created_at) VALUES ('many', now()) RETURNING id",
  );
  await database.query('INSERT INTO account_balance (account_id) VALUES ($1)', [account?.id]);
  const rows = await database.query<{ id: bigint; hash: Buffer }>(
    `INSERT INTO api_key (hash, account_id, kind, name, label, limit_micro, created_at)
     SELECT sha256(n::text::bytea), $1, 1, 'one', 'one', 1000000, now() FROM generate_series(1, ${keyCount}) n RETURNING id, hash`,
    [account?.id],
  );
  await database.query(
    'INSERT INTO key_directory (hash, key_id, account_id) SELECT hash, id, account_id FROM api_key',
  );
  await database.query(
    `INSERT INTO key_usage_day (account_id, key_id, day, cost) SELECT $1, id, '2026-01-01', id FROM api_key WHERE account_id = $1`,
    [account?.id],
  );
  for (const { hash } of rows) await accounting.keys.load(hash.toString('hex') as KeyHash);
  let turns = 0;
  const { serial: line } = database;
  const run = line.run.bind(line);
  line.run = (use) => {
    turns += 1;
    return run(use);
  };
  const ids = rows.map(({ id }) => Number(id));
  await database.transaction(async (sql) => {
    await sql.query('UPDATE api_key SET revoked_at = now() WHERE account_id = $1', [account?.id]);
    await recordChanges(sql, 'key', [...ids, ...ids]);
  });
  const committedMs = performance.now();
  await until('every key is revoked in memory', () =>
    ids.every((id) => accounting.keys.getCachedById(id)?.row.revokedAtMs !== null),
  );
  t.diagnostic(
    `known after ${Math.round(performance.now() - committedMs)} ms, in ${turns} turns of the line`,
  );
  for (const id of ids)
    assert.equal(accounting.keys.getCachedById(id)?.spendOn(Date.now()).total, BigInt(id));
  assert.ok(turns < 100, 'one by one');
});
