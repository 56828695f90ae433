/**
 * Days are sums of their hours, or are not there: whatever happens between hours and days, every
 * page reads the same as from the hours.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { usageOfApps } from '../../src/analytics/app-usage-sql.ts';
import { UsageRoller } from '../../src/analytics/roll-usage.ts';
import { readRolledUntil } from '../../src/analytics/rolling-sql.ts';
import { spansOfDays, startOfDay } from '../../src/analytics/seoul-days.ts';
import { usageChecks } from '../../src/analytics/usage-checks-sql.ts';
import { usageBy, usagePercentiles, usageSeries, usageTotals } from '../../src/analytics/usage-sql.ts';
import { verifyUsage } from '../../src/analytics/verify-usage.ts';
import { ensurePartitions } from '../../src/generations/partitions.ts';
import { newGenerationUuid } from '../../src/ids/generation-id.ts';
import type { SettlementRow } from '../../src/ledger/settlement-sql.ts';
import { silentLog } from '../../src/log/log.ts';
import type { Database } from '../../src/store/database.ts';
import { seoulDayAt } from '../../src/time/period.ts';
import { isTableAwaited, killWaiting, lockTable, workersOfServer } from '../harness/citus.ts';
import { sample } from '../harness/tier.ts';
import { until } from '../harness/until.ts';
import { type LedgerWorld, openLedger } from '../ledger/world.ts';

/** Two months of hours are 250 parts; of each shard a part is a transaction of its own. */
const rollWithinMs = workersOfServer().length > 0 ? 120_000 : 10_000;

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const monday = Date.parse('2026-06-01T00:00:00+09:00');

interface DaysWorld extends LedgerWorld {
  use(atMs: number, cost: bigint, more?: Partial<SettlementRow>): Promise<void>;
  /** Settles now what had ended at an instant. */
  useLate(atMs: number, cost: bigint): Promise<void>;
  roller(minRowsOfDay?: number, database?: Database): UsageRoller;
  rollUp(minRowsOfDay?: number): Promise<void>;
  days(): Promise<readonly (readonly [day: string, accountId: number, requests: number, cost: number])[]>;
  /** What the pages read, of the account and of all. */
  read(fromMs?: number, toMs?: number): Promise<object>;
}

async function openWorld(t: TestContext): Promise<DaysWorld> {
  const world = await openLedger(t);
  const { database, clock, accountId, keyId } = world;
  clock.freeze(monday - dayMs);
  await world.grant(1_000_000_000n);
  const settleAt = async (atMs: number, cost: bigint, more: Partial<SettlementRow> = {}): Promise<void> => {
    await ensurePartitions(database, atMs);
    const at = { uuid: newGenerationUuid(atMs), createdAtMs: atMs, settledAtMs: atMs, day: seoulDayAt(atMs) };
    const detail = JSON.stringify({ latency_ms: 200 + Number(cost), generation_ms: 900, streamed: true });
    await world.settle(world.generation(cost, { ...at, completionTokens: 100, detail, ...more }));
  };
  const roller = (minRowsOfDay = 1, of = database): UsageRoller =>
    new UsageRoller({ database: of, clock, log: silentLog, minRowsOfDay });
  return {
    ...world,
    roller,
    async use(atMs, cost, more) {
      clock.freeze(atMs);
      await settleAt(atMs, cost, more);
    },
    useLate: settleAt,
    async rollUp(minRowsOfDay) {
      const closedMs = Math.floor((clock.now() - 31_000) / hourMs) * hourMs;
      const one = roller(minRowsOfDay);
      await until(
        'every closed hour and day is rolled up',
        async () => {
          await one.run();
          const due = await database.query('SELECT FROM usage_day_check WHERE is_due AND day < $1::date', [
            new Date(startOfDay(clock.now()) + dayMs / 2).toISOString().slice(0, 10),
          ]);
          return ((await readRolledUntil(database)) ?? 0) >= closedMs && due.length === 0;
        },
        rollWithinMs,
      );
    },
    async days() {
      const rows = await database.query<{ day: string; account_id: bigint; requests: bigint; cost: bigint }>(
        `SELECT day::text, account_id, sum(requests)::bigint AS requests, sum(cost)::bigint AS cost FROM usage_day
         WHERE key_id = 0 GROUP BY 1, 2 ORDER BY 1, 2 DESC`,
      );
      return rows.map((row) => [row.day, Number(row.account_id), Number(row.requests), Number(row.cost)]);
    },
    async read(fromMs = monday - 2 * dayMs, toMs = clock.now() + hourMs) {
      const found = [];
      for (const account of [accountId, null]) {
        const query = { accountId: account, fromMs, toMs };
        const groups = { by: 'model', limit: 1, ranking: 'cost' } as const;
        const distribution = { distribution: 'ttft', step: 'day', groups } as const;
        found.push(
          await usageTotals(database, query),
          await usageBy(database, query, groups),
          await usageSeries(database, query, { step: 'day', groups }),
          await usageSeries(database, query, { step: 'week' }),
          await usageSeries(database, query, { step: 'hour' }),
          await usagePercentiles(database, query, distribution),
          await usagePercentiles(database, { ...query, only: { model: ['a/other'] } }, distribution),
          await usagePercentiles(database, { ...query, only: { status: ['200'] } }, distribution),
          await usagePercentiles(database, query, { distribution: 'duration', step: null }),
          await usagePercentiles(database, query, { distribution: 'speed', step: 'hour' }),
        );
        for (const by of ['model', 'provider', 'status', 'error', 'finish'] as const)
          for (const step of ['hour', 'day'] as const)
            found.push(
              await usagePercentiles(database, query, {
                distribution: 'ttft',
                step,
                groups: { by, limit: 2, ranking: by === 'status' ? 'failures' : 'requests' },
              }),
            );
      }
      // Days are summed apart for those who ask for keys or apps.
      const own = { accountId, fromMs, toMs };
      const byKey = { by: 'key', limit: 5, ranking: 'cost' } as const;
      found.push(
        await usageBy(database, own, byKey),
        await usagePercentiles(database, own, { distribution: 'ttft', step: 'day', groups: byKey }),
        await usageTotals(database, { ...own, only: { key: [String(keyId)] } }),
        await usageTotals(database, { ...own, only: { key: ['0'] } }),
        await usageOfApps(database, own),
      );
      return found;
    },
  };
}

/** A few requests on each of four days, up to an hour of the fifth. */
async function fourDays(t: TestContext): Promise<DaysWorld> {
  const world = await openWorld(t);
  for (let at = monday, n = 1; at < monday + 4 * dayMs; at += 5 * hourMs, n += 1)
    await world.use(at, BigInt(n), n % 3 === 0 ? { model: 'a/other' } : {});
  world.clock.freeze(monday + 4 * dayMs + 2 * hourMs);
  return world;
}

test('a span is cut at midnight in Seoul, and only whole days are days', () => {
  const parts = (fromMs: number, toMs: number) =>
    spansOfDays(monday + fromMs, monday + toMs).map((span) => [
      span.fromMs - monday,
      span.toMs - monday,
      span.day,
    ]);
  assert.deepEqual(parts(0, 0), []);
  assert.deepEqual(parts(0, dayMs), [[0, dayMs, '2026-06-01']]);
  assert.deepEqual(parts(0, dayMs - hourMs), [[0, dayMs - hourMs, null]]);
  // Midnight of UTC is nine in the morning in Seoul.
  assert.deepEqual(parts(9 * hourMs, 2 * dayMs + 9 * hourMs), [
    [9 * hourMs, dayMs, null],
    [dayMs, 2 * dayMs, '2026-06-02'],
    [2 * dayMs, 2 * dayMs + 9 * hourMs, null],
  ]);
  for (let at = Date.parse('2026-01-01T00:00:00Z'); at < Date.parse('2027-01-01T00:00:00Z'); at += 7 * hourMs)
    assert.equal(
      new Date(startOfDay(at)).toLocaleString('sv', { timeZone: 'Asia/Seoul' }),
      `${new Date(at).toLocaleDateString('sv', { timeZone: 'Asia/Seoul' })} 00:00:00`,
    );
});

test('pages read the same before hours are summed to days, and after', async (t) => {
  const world = await fourDays(t);
  await world.use(monday + 2 * dayMs - 1, 1_000n);
  await world.use(monday + 2 * dayMs, 2_000n);
  world.clock.freeze(monday + 4 * dayMs + 2 * hourMs);
  const spans = [
    [undefined, undefined],
    [monday + 9 * hourMs, monday + 3 * dayMs + 9 * hourMs],
    [monday + dayMs, monday + 2 * dayMs],
    [monday + 3 * hourMs, monday + 7 * hourMs],
    [monday + 5 * dayMs, monday + 6 * dayMs],
  ] as const;
  const readAll = () => Promise.all(spans.map(([fromMs, toMs]) => world.read(fromMs, toMs)));
  const fromRecords = await readAll();
  await world.rollUp(1_000);
  assert.deepEqual(await world.days(), [], 'days with few rows are not summed');
  assert.deepEqual(await readAll(), fromRecords);
  await world.roller().reconcile();
  const { accountId } = world;
  assert.deepEqual(
    (await world.days()).filter(([, account]) => account === accountId).map(([day]) => day),
    ['2026-06-01', '2026-06-02', '2026-06-03', '2026-06-04'],
  );
  assert.deepEqual(await readAll(), fromRecords);
  const used = await world.database.query<{ day: string; cost: bigint }>(
    'SELECT day::text, sum(cost)::bigint AS cost FROM key_usage_day GROUP BY 1 ORDER BY 1',
  );
  assert.deepEqual(
    (await world.days()).filter(([, account]) => account === 0).map(([day, , , cost]) => [day, cost]),
    used.map(({ day, cost }) => [day, Number(cost)]),
  );
  // A sum that is wrong on purpose shows what is read of it: whole days, and not as hours.
  await world.database.query("UPDATE usage_day SET cost = cost + 1000000 WHERE day = '2026-06-02'");
  const query = { accountId, fromMs: monday + 9 * hourMs, toMs: monday + 2 * dayMs };
  assert.ok((await usageTotals(world.database, query)).cost > 1_000_000n);
  const partly = { ...query, toMs: query.toMs - hourMs };
  assert.ok((await usageTotals(world.database, partly)).cost < 1_000_000n);
  for (const { cost } of await usageSeries(world.database, query, { step: 'hour' }))
    assert.ok(cost < 1_000_000n);
});

test('a process that is killed between hours and days loses and doubles nothing', async (t) => {
  const world = await fourDays(t);
  const before = await world.read();
  // The hours are rolled up, and the roller waits where it inserts their sums.
  await world.rollUp(1_000);
  const unlock = await lockTable(world.database, 'usage_day', 'SHARE');
  t.after(unlock);
  const killed = assert.rejects(world.roller(1).reconcile());
  await until('the roller waits', () => isTableAwaited(world.database.address));
  assert.deepEqual(await world.days(), []);
  assert.deepEqual(await world.read(), before);
  await killWaiting(world.database.address);
  await killed;
  await unlock();
  assert.deepEqual(await world.days(), []);
  assert.deepEqual(await world.read(), before);
  await Promise.all([world.rollUp(), world.rollUp()]);
  assert.equal((await world.days()).length, 8);
  assert.deepEqual(await world.read(), before);
  assert.deepEqual((await verifyUsage(world.database)).differences, []);
});

test('a record that is settled after its day was summed is in the hour, and then in the day', async (t) => {
  const world = await fourDays(t);
  await world.rollUp();
  const before = await world.days();
  await world.useLate(monday + dayMs + 3 * hourMs, 500n);
  await world.rollUp(1_000);
  assert.deepEqual(
    await world.days(),
    before.filter(([day]) => day !== '2026-06-02'),
    'the day is deleted with its hour',
  );
  const query = { accountId: world.accountId, fromMs: monday, toMs: monday + 4 * dayMs };
  const totals = await usageTotals(world.database, query);
  assert.equal(
    totals.cost,
    before.reduce((sum, [, account, , cost]) => sum + (account === 0 ? 0n : BigInt(cost)), 500n),
  );
  await world.roller().reconcile();
  assert.deepEqual(await usageTotals(world.database, query), totals);
  assert.equal((await world.days()).length, before.length);
  assert.deepEqual((await verifyUsage(world.database)).differences, []);
});

test('wrong, lost and invented days are found by the verification, and repaired by a check and by a rebuild', async (t) => {
  const world = await fourDays(t);
  await world.rollUp();
  const before = await world.read();
  const rows = () => world.database.query('SELECT * FROM usage_day ORDER BY 1, 2, 3, 4, 5');
  const rowsBefore = await rows();
  const repairs = [
    async () => void (await world.roller().reconcile()),
    () => Array.fromAsync(world.roller().rebuild()),
  ];
  const faults = [
    'UPDATE usage_day SET cost = cost + 1',
    "UPDATE usage_day SET prompt_tokens = prompt_tokens + 1 WHERE account_id = 0 AND day = '2026-06-03'",
    "DELETE FROM usage_day WHERE model = 'a/other'",
    'UPDATE usage_day SET cost = cost + 1 WHERE key_id > 0',
    'UPDATE usage_day SET cost = cost + 1 WHERE key_id = 0 AND account_id > 0',
    'DELETE FROM usage_day WHERE key_id > 0',
    'UPDATE usage_day SET requests = requests + 1 WHERE key_id = -2',
    'DELETE FROM usage_day WHERE key_id = -3 AND account_id = 0',
    'DELETE FROM usage_day WHERE key_id = 0 AND account_id > 0',
    "UPDATE usage_day SET day = '2026-05-01' WHERE day = '2026-06-01'",
  ];
  for (const repair of repairs) {
    for (const fault of sample(faults, 2)) {
      await world.database.query(fault);
      const { differences } = await verifyUsage(world.database);
      assert.ok(differences.length > 0, fault);
      assert.ok(
        differences.every(({ check }) => check === usageChecks.days || check === usageChecks.cuts),
        fault,
      );
      if (fault.includes('2026-05-01'))
        await world.database.query("DELETE FROM usage_day WHERE day < '2026-06-01'");
      await repair();
      assert.deepEqual(await rows(), rowsBefore, fault);
      assert.deepEqual(await world.read(), before);
    }
  }
});

test('percentiles over days are read from the cuts, and the check of a day makes them again', async (t) => {
  const world = await fourDays(t);
  await world.rollUp();
  const before = await world.read();
  // A count that is wrong on purpose shows where percentiles come from.
  const percentiles = { distribution: 'ttft', step: 'day' } as const;
  const query = { accountId: world.accountId, fromMs: monday, toMs: monday + 4 * dayMs };
  const [exact] = await usagePercentiles(world.database, query, percentiles);
  await world.database.query(
    'UPDATE usage_day SET ttft_n = ARRAY(SELECT 2 * n FROM unnest(ttft_n) n) WHERE key_id = -1',
  );
  const [doubled] = await usagePercentiles(world.database, query, percentiles);
  assert.equal(doubled?.count, 2n * (exact?.count ?? 0n));
  await world.database.query('DELETE FROM usage_day WHERE key_id < 0');
  await world.roller().reconcile();
  assert.deepEqual(await world.read(), before);
  await world.database.query('DELETE FROM usage_hour WHERE key_id < 0');
  const { differences } = await verifyUsage(world.database);
  assert.ok(differences.length > 0 && differences.every(({ check }) => check === usageChecks.cuts));
});

test('only days that changed are checked, and one of the others each hour', async (t) => {
  const world = await fourDays(t);
  await world.rollUp();
  const { database, clock } = world;
  const checked = async (): Promise<readonly string[]> => {
    const rows = await database.query<{ day: string }>(
      'SELECT day::text FROM usage_day_check WHERE checked_at = $1 ORDER BY day',
      [new Date(clock.now()).toISOString()],
    );
    return rows.map(({ day }) => day);
  };
  const roller = world.roller();
  await roller.run();
  clock.freeze(clock.now() + 1_000);
  await world.useLate(monday + 2 * dayMs, 7n);
  await roller.run();
  assert.deepEqual(await checked(), ['2026-06-03']);
  // The rotation finds a fault that nobody made known.
  await database.query(
    "UPDATE usage_hour SET cost = cost + 1 WHERE account_id > 0 AND hour < '2026-06-01T15:00:00Z'",
  );
  const seen = new Set<string>();
  await until('every day was checked', async () => {
    clock.freeze(clock.now() + 1_000);
    // A roller that starts begins its hour.
    await world.roller().run();
    const now = await checked();
    assert.ok(now.length <= 1, `${now.join(', ')} at once`);
    for (const day of now) seen.add(day);
    return seen.size >= 4;
  });
  assert.deepEqual((await verifyUsage(database)).differences, []);
});

test('days stay when the records of their month are dropped', async (t) => {
  const world = await fourDays(t);
  world.clock.freeze('2026-08-03T12:00:00+09:00');
  await world.rollUp();
  const before = await world.days();
  assert.equal(before.length, 8);
  const read = await world.read();
  const july = Date.parse('2026-07-01T00:00:00+09:00');
  const outcome = await world.operator.pruneGenerations({ beforeMs: july, dryRun: false });
  assert.equal(outcome.kind, 'pruned');
  assert.deepEqual(await world.read(), read);
  await Array.fromAsync(world.roller().rebuild());
  assert.deepEqual(await world.days(), before);
  assert.deepEqual(await world.read(), read);
  assert.deepEqual((await verifyUsage(world.database)).differences, []);
});
