import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Database } from '../../src/store/database.ts';
import { createTestDatabase, urlOf } from '../harness/database.ts';
import { createInstallation } from './naru.ts';

test('naru database status and distribute state that plain PostgreSQL distributes nothing', async (t) => {
  const testDatabase = await createTestDatabase();
  const installation = createInstallation();
  t.after(async () => {
    installation.remove();
    await testDatabase.drop();
  });
  const config = installation.configure({ database: { url: urlOf(testDatabase.address) }, models: [] });
  const database = new Database(testDatabase.address);
  const [engine] = await database.query("SELECT FROM pg_extension WHERE extname = 'citus'");
  await database.close();
  if (engine !== undefined) {
    t.skip('the server distributes tables');
    return;
  }
  const status = await installation.json('database', 'status', '--config', config);
  assert.deepEqual(status.rows, [{ engine: null, servers: 0, distributed: false, shards: [] }]);
  const shown = await installation.run('database', 'status', '--config', config);
  assert.equal(shown.out, 'PostgreSQL: not distributed\n');
  const refused = await installation.run('database', 'distribute', '--config', config);
  assert.equal(refused.code, 1);
  assert.match(refused.err, /no extension citus/);
});
