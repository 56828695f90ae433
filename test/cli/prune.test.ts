import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { ensurePartitions } from '../../src/generations/partitions.ts';
import { systemClock } from '../../src/time/clock.ts';
import { isoDay, periodAt, seoulDayAt } from '../../src/time/period.ts';
import { createTestDatabase, urlOf } from '../harness/database.ts';
import { shiftDatabaseClock } from '../harness/database-clock.ts';
import { tamper } from '../harness/ledger-guards.ts';
import { openLedger } from '../ledger/world.ts';
import { createInstallation } from './naru.ts';

/*
 * `naru generation prune`, as an operator sees it; test/ledger/retention.test.ts has its
 * guarantees.
 */

test('records of old months are dropped by name; the ledger and a backup of it still verify', async (t) => {
  const ledger = await openLedger(t);
  const installation = createInstallation();
  t.after(() => installation.remove());
  for (const month of ['2024-01', '2024-02', '2024-03']) {
    ledger.clock.set(`${month}-05T00:00:00+09:00`);
    await ensurePartitions(ledger.database, ledger.clock.now());
    await ledger.settle(ledger.generation(1_500_000n), ledger.generation(0n));
  }
  const file = installation.configure({ database: { url: urlOf(ledger.database.address) } });
  const months = [
    { month: '2024-01', records: 2, cost_krw: '1.500000' },
    { month: '2024-02', records: 2, cost_krw: '1.500000' },
  ];
  const order = ['generation', 'prune', '--before', '2024-03', '--config', file];

  const planned = await installation.run(...order, '--dry-run');
  assert.deepEqual(
    planned.out.split('\n').map((line) => line.split('\t').join(' ')),
    ['month records cost_krw', '2024-01 2 1.500000', '2024-02 2 1.500000', ''],
  );
  assert.deepEqual((await installation.json(...order)).rows, months);
  const again = await installation.run(...order);
  assert.deepEqual([again.code, again.out, again.err], [0, '', 'no records before that month\n']);
  const recent = await installation.run('generation', 'prune', '--before', '2999-01', '--config', file);
  assert.equal(recent.code, 1);
  assert.match(
    recent.err,
    /the current and the previous month cannot be deleted: --before may be \d{4}-\d\d at the latest/,
  );

  // A month that the clock of this machine accepts, 100 days ahead of that of the database.
  const { startMs } = periodAt('monthly', systemClock.now());
  const latest = isoDay(seoulDayAt(periodAt('monthly', startMs - 1).startMs)).slice(0, 7);
  const early = await installation.run(
    'generation',
    'prune',
    '--before',
    latest,
    '--dry-run',
    '--config',
    file,
  );
  assert.equal(early.code, 0, early.err);
  const behind = await createTestDatabase();
  t.after(() => behind.drop());
  await shiftDatabaseClock(behind.address, "- interval '100 days'");
  const there = installation.configure({ database: { url: urlOf(behind.address) } });
  const late = await installation.run(
    'generation',
    'prune',
    '--before',
    latest,
    '--dry-run',
    '--config',
    there,
  );
  assert.equal(late.code, 1);
  assert.match(late.err, /the current and the previous month cannot be deleted/);
  installation.configure({ database: { url: urlOf(ledger.database.address) } });

  const verdict = await installation.json('ledger', 'verify', '--config', file);
  assert.deepEqual([verdict.code, verdict.rows[0]?.generations, verdict.rows[0]?.entries], [0, 2, 3]);
  const copy = await createTestDatabase(null);
  t.after(() => copy.drop());
  const dir = join(installation.folder, 'copy');
  assert.equal((await installation.json('backup', '--to', dir, '--config', file)).code, 0);
  const target = createInstallation();
  t.after(() => target.remove());
  const other = target.configure({ database: { url: urlOf(copy.address) } });
  const restored = await target.json('restore', dir, '--config', other);
  assert.deepEqual([restored.code, restored.rows[0]?.differences], [0, 0], restored.err);

  await tamper(ledger.database, 'UPDATE pruned_usage SET cost = cost + 1 WHERE cost > 0');
  const refused = await installation.run('generation', 'prune', '--before', '2024-04', '--config', file);
  assert.deepEqual([refused.code, refused.err.includes('naru ledger verify')], [1, true]);
});
