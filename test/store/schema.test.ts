import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Database } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { unlessDistributed } from '../harness/citus.ts';
import { createTestDatabase, type TestDatabase } from '../harness/database.ts';

const snapshotFile = join(import.meta.dirname, 'schema.snapshot.txt');
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

/**
 * Columns, constraints, indexes and triggers of every table, in a fixed order: the result of the
 * migrations.
 */
async function schema(): Promise<string> {
  const columns = await database.query<{ line: string }>(
    `SELECT format('%s.%s %s%s%s%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
       CASE WHEN a.attnotnull THEN ' not null' ELSE '' END, CASE WHEN a.attidentity <> '' THEN ' identity' ELSE '' END,
       coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')) AS line
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
     ORDER BY c.relname, a.attnum`,
  );
  const constraints = await database.query<{ line: string }>(
    `SELECT format('%s: %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) AS line FROM pg_constraint
     WHERE connamespace = 'public'::regnamespace AND contype <> 'n' ORDER BY 1`,
  );
  const indexes = await database.query<{ line: string }>(
    `SELECT indexdef || coalesce(' ' || array_to_string(c.reloptions, ','), '') AS line
     FROM pg_indexes i JOIN pg_class c ON c.relname = i.tablename WHERE i.schemaname = 'public' ORDER BY 1`,
  );
  const triggers = await database.query<{ line: string }>(
    `SELECT format('%s %s', pg_get_triggerdef(oid), tgenabled) AS line FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1`,
  );
  return `${[...columns, ...constraints, ...indexes, ...triggers].map((row) => row.line).join('\n')}\n`;
}

test(
  'the migrations produce the schema of the snapshot',
  unlessDistributed('the snapshot is that of one server'),
  async () => {
    const found = await schema();
    if (!existsSync(snapshotFile) || process.env['UPDATE_SNAPSHOTS'] === '1')
      writeFileSync(snapshotFile, found);
    assert.equal(
      found,
      readFileSync(snapshotFile, 'utf8'),
      'run UPDATE_SNAPSHOTS=1 npm test test/store/schema.test.ts after a migration',
    );
  },
);

test('a second migration repeats no step', async () => {
  assert.deepEqual(await migrate(database), []);
});

test('a database that is newer than the program is rejected', async () => {
  await database.transaction((sql) =>
    sql.query(
      "INSERT INTO schema_migration (version, name, checksum) VALUES (9999, '9999-from-the-future', 'x')",
    ),
  );
  await assert.rejects(migrate(database), /newer/);
  await database.transaction((sql) => sql.query('DELETE FROM schema_migration WHERE version = 9999'));
});

test('a migration that was edited after it was applied is rejected', async () => {
  await database.transaction((sql) =>
    sql.query("UPDATE schema_migration SET checksum = 'edited' WHERE version = 1"),
  );
  await assert.rejects(migrate(database), /was edited after it was applied/);
});
