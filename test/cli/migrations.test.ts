/** Commands on a database that an older version serves: an upgrade begins like this. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';
import { Database } from '../../src/store/database.ts';
import { countMigrations, knownMigrations } from '../../src/store/migrate.ts';
import { createTestDatabase } from '../harness/database.ts';
import { createInstallationOn } from './naru.ts';

test('a command does not migrate a database that an older server serves, which could not start again', async (t) => {
  const { address, drop } = await createTestDatabase();
  t.after(drop);
  const database = new Database(address, 1);
  t.after(() => database.close());
  const installation = createInstallationOn(address);
  t.after(() => installation.remove());
  await database.query('DROP TABLE pruning_month');
  await database.query("DELETE FROM schema_migration WHERE name = '0056-months-being-dropped'");
  await database.query(
    "INSERT INTO gateway_node (home, address, session, process, keeps_charges) VALUES ($1, '10.0.0.7:8787', $1, '', false)",
    [randomUUID()],
  );
  const backup = ['backup', '--to', join(installation.folder, 'copy')];
  for (const command of [['account', 'list'], ['backup', 'runs'], ['ledger', 'verify'], backup]) {
    await database.query('UPDATE gateway_node SET seen_at = now()');
    const refused = await installation.run(...command);
    assert.equal(refused.code, 1, refused.out);
    assert.match(refused.err, /server at 10\.0\.0\.7:8787 .*run the command of that version/);
  }
  assert.equal(await countMigrations(database), knownMigrations() - 1);

  await database.query("UPDATE gateway_node SET seen_at = now() - interval '1 minute'");
  assert.equal((await installation.run('account', 'list')).code, 0);
  assert.equal(await countMigrations(database), knownMigrations());
});
