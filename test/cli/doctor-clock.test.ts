import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Database } from '../../src/store/database.ts';
import { createTestDatabase, urlOf } from '../harness/database.ts';
import { createInstallation } from './naru.ts';

for (const [direction, sign] of [
  ['behind', '+'],
  ['ahead of', '-'],
] as const) {
  test(`doctor shows how far the clock is ${direction} that of the database, and fails above one second`, async (t) => {
    const installation = createInstallation();
    t.after(() => installation.remove());
    const { address, drop } = await createTestDatabase();
    t.after(drop);
    const file = installation.configure({ database: { url: urlOf(address) } });
    const clock = async () => {
      const { code, rows } = await installation.json('doctor', '--config', file);
      const { ok, detail } = rows.find(({ check }) => check === 'clock') ?? assert.fail('no such line');
      return { code, ok, detail };
    };
    const before = await clock();
    assert.equal(before.ok, true);
    assert.match(before.detail, /^0\.\d{3} s (ahead of|behind) the clock of the database$/);
    // From now on the sessions of this database read another clock.
    const database = new Database(address, 1);
    await database.query('CREATE SCHEMA other_clock');
    await database.query(
      `CREATE FUNCTION other_clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS
       $$ SELECT pg_catalog.clock_timestamp() ${sign} interval '2 hours' $$`,
    );
    await database.query(
      `ALTER DATABASE ${address.database} SET search_path = other_clock, pg_catalog, public`,
    );
    await database.close();
    const { code, ok, detail } = await clock();
    assert.deepEqual([code, ok], [1, false]);
    assert.match(
      detail,
      new RegExp(
        `^(7199|7200)\\.\\d+ s ${direction} the clock of the database, more than 1 s: synchronize both with NTP$`,
      ),
    );
  });
}
