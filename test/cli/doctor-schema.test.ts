import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Database } from '../../src/store/database.ts';
import { unlessDistributed } from '../harness/citus.ts';
import { createTestDatabase, urlOf } from '../harness/database.ts';
import { createInstallation } from './naru.ts';

// spec:money/3.9
test(
  'a guard of the ledger that was removed is named by the doctor, the verification and the start',
  unlessDistributed('the guards are those of each shard'),
  async (t) => {
    const home = await createTestDatabase();
    const database = new Database(home.address, 1);
    const installation = createInstallation();
    t.after(async () => {
      installation.remove();
      await database.close();
      await home.drop();
    });
    const config = installation.configure({
      ...{ database: { url: urlOf(home.address) }, models: [], listen: { port: 0 } },
      log: { level: 'info' },
    });
    const doctor = async () => {
      const { rows } = await installation.json('doctor', '--config', config);
      return rows.find(({ check }) => check === 'schema');
    };
    const verify = () => installation.json('ledger', 'verify', '--config', config);
    assert.deepEqual([(await doctor())?.ok, (await verify()).code], [true, 0]);

    await database.query('DROP TRIGGER append_only ON ledger');
    await database.query('DROP INDEX ledger_one_entry_per_generation');
    const found = await doctor();
    assert.equal(found?.ok, false);
    const verified = await verify();
    assert.equal(verified.code, 1);
    const serving = await installation.up('--config', config);
    for (const text of [found?.detail, JSON.stringify(verified.rows), serving.err()])
      for (const name of ['CREATE TRIGGER append_only', 'ledger_one_entry_per_generation'])
        assert.ok(text.includes(name), `${name} in ${text}`);
    assert.match(serving.err(), /schema_differs/);
    await serving.stop();
  },
);
