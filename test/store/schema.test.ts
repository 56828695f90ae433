import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { Database } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { findSchemaFaults, readSchema, schemaFile } from '../../src/store/schema-sql.ts';
import type { Sql } from '../../src/store/sql.ts';
import { unlessDistributed } from '../harness/citus.ts';
import { createTestDatabase, type TestDatabase } from '../harness/database.ts';
import { folderWithNext } from '../harness/migrations.ts';

let testDatabase: TestDatabase;
let database: Database;

before(async () => {
  // That of the other tests has partitions, whose names depend on the day.
  testDatabase = await createTestDatabase(null);
  database = new Database(testDatabase.address);
  await migrate(database);
});
after(async () => {
  await database?.close();
  await testDatabase?.drop();
});

test(
  'the migrations produce the schema of the snapshot',
  unlessDistributed('the snapshot is that of one server'),
  async () => {
    const found = `${(await readSchema(database)).join('\n')}\n`;
    if (!existsSync(schemaFile) || process.env['UPDATE_SNAPSHOTS'] === '1') writeFileSync(schemaFile, found);
    assert.equal(
      found,
      readFileSync(schemaFile, 'utf8'),
      'run UPDATE_SNAPSHOTS=1 npm test test/store/schema.test.ts after a migration',
    );
  },
);

/** What is done to a guard, and what names it. */
const removals: Readonly<Record<string, RegExp>> = {
  'DROP TRIGGER append_only ON ledger': /CREATE TRIGGER append_only .* ON public.ledger/,
  'ALTER TABLE credit_lot DISABLE TRIGGER append_only': /ON public.credit_lot .* A$/,
  'ALTER TABLE ledger ENABLE TRIGGER append_only': /ON public.ledger .* A$/,
  'ALTER TABLE generation_2026_06 DISABLE TRIGGER append_only': /append_only on generation_2026_06/,
  'CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN new; END $$':
    /function refuse_change\(\)/,
  'DROP INDEX ledger_one_entry_per_generation': /ledger_one_entry_per_generation/,
  "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'ledger_idempotency'::regclass":
    /ledger_idempotency/,
  'ALTER TABLE account_balance DROP CONSTRAINT account_balance_pkey': /account_balance_pkey PRIMARY KEY/,
  'ALTER TABLE account_balance DROP CONSTRAINT balance_is_credits_minus_usage':
    /balance_is_credits_minus_usage/,
  'ALTER TABLE ledger ALTER COLUMN amount TYPE numeric': /ledger.amount bigint/,
  'ALTER TABLE api_key ALTER COLUMN created_at DROP NOT NULL': /api_key.created_at .* not null/,
  'ALTER TABLE ledger SET UNLOGGED': /table ledger r p/,
  'COMMENT ON TABLE page_session IS NULL': /comment page_session: in no backup/,
  'DROP TABLE account_alert': /table account_alert r p/,
  "INSERT INTO account (name, created_at) VALUES ('x', now()), ('y', now()); ALTER SEQUENCE account_id_seq RESTART 2":
    /the sequence of account.id is behind its rows/,
};

// security:42
test(
  'every guard that is removed, disabled or changed is named; what an operator adds is no fault',
  unlessDistributed('the guards are those of each shard'),
  async (t) => {
    const faultsAfter = (statement: string): Promise<readonly string[]> =>
      database
        .transaction(async (sql) => {
          await sql.query(
            'CREATE TABLE generation_2026_06 PARTITION OF generation FOR VALUES FROM ($$01970000-0000-7000-8000-000000000000$$) TO ($$01980000-0000-7000-8000-000000000000$$)',
          );
          await sql.query(statement);
          throw Object.assign(new Error('undo'), { faults: await findSchemaFaults(sql) });
        })
        .catch((error: Error & { faults?: readonly string[] }) => error.faults ?? Promise.reject(error));
    for (const [removal, name] of Object.entries(removals)) {
      const faults = await faultsAfter(removal);
      assert.ok(
        faults.some((fault) => name.test(fault)),
        `${removal}: ${faults.join('\n')}`,
      );
      t.diagnostic(`${faults.length} after ${removal}`);
    }
    const additions =
      'CREATE INDEX mine ON ledger (memo); CREATE TABLE mine_too (id int); COMMENT ON TABLE ledger IS $$the books$$; ALTER TABLE ledger ADD CHECK (amount < 9e17)';
    assert.deepEqual(await faultsAfter(additions), []);
    assert.deepEqual(await faultsAfter('SELECT 1'), []);
    const path = 'CREATE SCHEMA first; SET LOCAL search_path = first, pg_catalog, public';
    assert.deepEqual(await faultsAfter(path), []);
    assert.deepEqual(
      await faultsAfter('ALTER SCHEMA public RENAME TO "Other"; SET LOCAL search_path = "Other"'),
      [],
    );
  },
);

test('a second migration repeats no step', async () => {
  assert.deepEqual(await migrate(database), []);
});

test('a later migration is applied once; a program that does not know it rejects the database', async (t) => {
  const folder = folderWithNext(t, 'ALTER TABLE app ADD COLUMN next text');
  const before = async (sql: Sql): Promise<void> => {
    assert.deepEqual(await sql.query("SELECT FROM pg_attribute WHERE attname = 'next'"), []);
  };
  assert.deepEqual(await migrate(database, { folder, beforeUpgrade: before }), ['9999-next']);
  assert.deepEqual(
    await migrate(database, { folder, beforeUpgrade: () => assert.fail('nothing is to be done') }),
    [],
  );
  await assert.rejects(migrate(database), /9999-next, which this version of Naru does not know/);
  await database.query("DELETE FROM schema_migration WHERE name = '9999-next'");
});

test('migrations are numbered without gaps', () => {
  const files = readdirSync(new URL('.', schemaFile))
    .filter((file) => file.endsWith('.sql'))
    .sort();
  assert.deepEqual(
    files.map((file) => Number(/^(\d{4})-[a-z-]+\.sql$/.exec(file)?.[1])),
    files.map((_, at) => at + 1),
  );
});

test('a migration that was edited after it was applied is rejected', async () => {
  await database.transaction((sql) =>
    sql.query("UPDATE schema_migration SET checksum = 'edited' WHERE version = 1"),
  );
  await assert.rejects(migrate(database), /was edited after it was applied/);
});
