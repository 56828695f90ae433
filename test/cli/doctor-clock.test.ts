import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDatabase, urlOf } from '../harness/database.ts';
import { shiftDatabaseClock } from '../harness/database-clock.ts';
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
    await shiftDatabaseClock(address, `${sign} interval '2 hours'`);
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
