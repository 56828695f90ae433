/** Commands on a database that another version serves, or that no version can read. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { migrateForCommand } from '../../src/admin/migrate-for-command.ts';
import { Database } from '../../src/store/database.ts';
import { countMigrations, knownMigrations } from '../../src/store/migrate.ts';
import { createTestDatabase } from '../harness/database.ts';
import { folderWithNext } from '../harness/migrations.ts';
import { createInstallationOn } from './naru.ts';

test('a command does not migrate a database that an older server serves, which could not start again', async (t) => {
  const { address, drop } = await createTestDatabase();
  t.after(drop);
  const database = new Database(address, 1);
  t.after(() => database.close());
  const folder = folderWithNext(t, 'CREATE TABLE next (id bigint PRIMARY KEY)');
  await database.query(
    "INSERT INTO gateway_node (home, address, session, process, keeps_charges) VALUES ($1, '10.0.0.7:8787', $1, '', false)",
    [randomUUID()],
  );
  await assert.rejects(
    migrateForCommand(database, folder),
    /server at 10\.0\.0\.7:8787 .*run the command of that version/,
  );
  assert.equal(await countMigrations(database), knownMigrations());

  await database.query("UPDATE gateway_node SET seen_at = now() - interval '1 minute'");
  await migrateForCommand(database, folder);
  assert.equal(await countMigrations(database), knownMigrations() + 1);
});

test('a database from before the first release is rejected, and nothing of it is changed', async (t) => {
  const { address, drop } = await createTestDatabase(null);
  t.after(drop);
  const database = new Database(address, 1);
  t.after(() => database.close());
  await database.query(
    "CREATE TABLE schema_migration AS SELECT 1 AS version, '0001-accounts-keys-ledger' AS name, 'x' AS checksum",
  );
  const installation = createInstallationOn(address);
  t.after(() => installation.remove());
  for (const command of [['account', 'list'], ['backup', 'runs'], ['up']]) {
    const { code, err } = await installation.run(...command);
    assert.equal(code, 1, err);
    assert.match(
      err,
      /from before the first release of Naru .*use an empty database, or another data directory/,
    );
  }
  const tables = await database.query("SELECT FROM pg_tables WHERE schemaname = 'public'");
  assert.equal(tables.length, 1);
});
