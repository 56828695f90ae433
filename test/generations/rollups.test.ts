/**
 * Rollups and records together equal what the keys used and the ledger moved, whenever hours were
 * rolled up.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { usageOfApps } from '../../src/generations/analytics/app-usage-sql.ts';
import { UsageRoller } from '../../src/generations/analytics/roll-usage.ts';
import { readRolledUntil } from '../../src/generations/analytics/rolling-sql.ts';
import type { UsageQuery } from '../../src/generations/analytics/usage-facts-sql.ts';
import {
  steps,
  usageBy,
  usagePercentiles,
  usageSeries,
  usageTotals,
} from '../../src/generations/analytics/usage-sql.ts';
import type { SettlementRow } from '../../src/ledger/settlement-sql.ts';
import { seoulDayAt } from '../../src/time/period.ts';
import { newGenerationUuid } from '../../src/wire/ids/generation-id.ts';
import { isTableAwaited, killWaiting, lockTable } from '../harness/citus.ts';
import { byTier, testSeed } from '../harness/tier.ts';
import { until } from '../harness/until.ts';
import { type LedgerWorld, openLedger } from '../ledger/world.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

interface RollupWorld extends LedgerWorld {
  readonly startMs: number;
  roller(): UsageRoller;
  /** Rolls up every closed hour; other databases of the server may delay it. */
  rollUp(): Promise<void>;
  /** Settles a generation that ended `agoMs` ago. */
  use(cost: bigint, agoMs?: number, more?: Partial<SettlementRow>): Promise<void>;
}

async function openWorld(t: Parameters<typeof openLedger>[0]): Promise<RollupWorld> {
  const world = await openLedger(t);
  const { database, clock } = world;
  await world.grant(1_000_000_000_000n);
  return {
    ...world,
    startMs: clock.now(),
    roller: () => new UsageRoller({ database, clock }),
    async rollUp() {
      const roller = new UsageRoller({ database, clock });
      const closedMs = Math.floor((clock.now() - 31_000) / hourMs) * hourMs;
      await until('every closed hour is rolled up', async () => {
        await roller.run();
        return ((await readRolledUntil(database)) ?? 0) >= closedMs;
      });
    },
    async use(cost, agoMs = 0, more = {}) {
      const settledAtMs = clock.now() - agoMs;
      await world.settle(
        world.generation(cost, {
          uuid: newGenerationUuid(settledAtMs),
          createdAtMs: settledAtMs,
          settledAtMs,
          day: seoulDayAt(settledAtMs),
          ...more,
        }),
      );
    },
  };
}

/** Checks every sum of usage against the records, the usage of the keys and the ledger. */
async function assertAgrees({ database, accountId, startMs, clock }: RollupWorld): Promise<void> {
  const span = { fromMs: startMs - 100 * hourMs, toMs: clock.now() + hourMs };
  const [records] = await database.query<{
    requests: bigint;
    cost: bigint;
    prompt: bigint;
    failures: bigint;
  }>(
    `SELECT count(*) AS requests, coalesce(sum(cost), 0)::bigint AS cost, coalesce(sum(prompt_tokens), 0)::bigint AS prompt,
            count(*) FILTER (WHERE status >= 400) AS failures FROM generation`,
  );
  for (const account of [accountId, null]) {
    const sums = await usageTotals(database, { accountId: account, ...span });
    assert.deepEqual(
      { requests: sums.requests, cost: sums.cost, prompt: sums.promptTokens, failures: sums.failures },
      records,
    );
  }
  const [entries] = await database.query<{ amount: bigint }>(
    'SELECT coalesce(-sum(amount), 0)::bigint AS amount FROM ledger WHERE kind = 3',
  );
  assert.equal(entries?.amount, records?.cost);
  const days = await usageSeries(database, { accountId, ...span }, { step: 'day' });
  const used = await database.query<{ start: number; requests: bigint; cost: bigint }>(
    `SELECT day::timestamp AT TIME ZONE 'Asia/Seoul' AS start, sum(requests)::bigint AS requests, sum(cost)::bigint AS cost
     FROM key_usage_day GROUP BY day ORDER BY day`,
  );
  assert.deepEqual(
    days.map(({ startMs, requests, cost }) => ({ start: startMs, requests, cost })),
    used.map((row) => ({ ...row })),
  );
}

test('whatever is settled when, late or in time, and whenever hours are rolled up, every sum agrees', async () => {
  const step = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('advance' as const),
        ms: fc.integer({ min: 1, max: 5 * hourMs }),
      }),
    },
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('use' as const),
        cost: fc.bigInt({ min: 0n, max: 5_000n }),
        agoMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 40 * hourMs })),
        status: fc.constantFrom(200, 502),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant('roll' as const), rollers: fc.integer({ min: 1, max: 2 }) }),
    },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 25 }), async (steps) => {
      const ends: (() => Promise<void>)[] = [];
      const world = await openWorld({ after: (end) => ends.push(end) });
      const rollers = [world.roller(), world.roller()];
      for (const one of steps) {
        if (one.kind === 'advance') world.clock.advance(one.ms);
        else if (one.kind === 'use')
          await world.use(one.status === 200 ? one.cost : 0n, one.agoMs, {
            status: one.status,
            promptTokens: one.status === 200 ? Number(one.cost) : 0,
          });
        else await Promise.all(rollers.slice(0, one.rollers).map((roller) => roller.run()));
        // A late settlement is missing until the next run.
        if (one.kind === 'use' && one.agoMs > 0) await rollers[0]?.run();
        await assertAgrees(world);
      }
      for (const end of ends) await end();
    }),
    { numRuns: byTier(4, 60), seed: testSeed },
  );
});

test('usage that came late without a mark is in its hour when the next hour has ended, or the day, or after a rebuild', async (t) => {
  const world = await openWorld(t);
  const { accountId, clock, database } = world;
  const noon = Math.floor((clock.now() + 9 * hourMs) / dayMs + 3) * dayMs + 3 * hourMs;
  clock.advance(noon + 60_000 - clock.now());
  await world.rollUp();
  for (const hoursAgo of [1, 20, 60]) await world.use(10n, hoursAgo * hourMs);
  await database.query('DELETE FROM stale_hour');
  const foundHoursAgo = async (): Promise<readonly number[]> => {
    await world.roller().run();
    const span = { accountId, fromMs: noon - 100 * hourMs, toMs: clock.now() };
    const points = await usageSeries(database, span, { step: 'hour' });
    return points.map(({ startMs }) => (noon - startMs) / hourMs);
  };
  assert.deepEqual(await foundHoursAgo(), []);
  clock.advance(hourMs);
  assert.deepEqual(await foundHoursAgo(), [1]);
  clock.advance(11 * hourMs);
  assert.deepEqual(await foundHoursAgo(), [20, 1]);
  await Array.fromAsync(world.roller().rebuild());
  assert.deepEqual(await foundHoursAgo(), [60, 20, 1]);
  await assertAgrees(world);
});

test('pages read the same from the records and from the hours', async (t) => {
  const world = await openWorld(t);
  const { accountId, keyId, clock, database } = world;
  const models = ['a/one', 'a/other', null];
  for (let n = 0; n < 24; n += 1) {
    clock.advance(5 * hourMs);
    const status = n % 5 === 4 ? 502 : 200;
    const detail = JSON.stringify({ latency_ms: 200 + n, generation_ms: 900, streamed: true });
    const more = { model: models[n % 3] ?? null, status, completionTokens: 100, detail };
    await world.use(status === 200 ? BigInt(n) : 0n, 0, more);
  }
  const read = async (query: UsageQuery): Promise<readonly unknown[]> => {
    const groups = { by: 'model', limit: 1, ranking: 'cost' } as const;
    const found: unknown[] = [await usageTotals(database, query), await usageBy(database, query, groups)];
    for (const step of steps)
      found.push(
        await usageSeries(database, query, { step }),
        await usageSeries(database, query, { step, groups }),
        await usagePercentiles(database, query, { distribution: 'ttft', step, groups }),
      );
    for (const by of ['model', 'provider', 'status', 'error', 'finish'] as const) {
      const ranked = { by, limit: 2, ranking: by === 'status' ? 'failures' : 'requests' } as const;
      found.push(
        await usagePercentiles(database, query, { distribution: 'speed', step: null, groups: ranked }),
      );
    }
    return found;
  };
  const own = { accountId, fromMs: world.startMs, toMs: clock.now() + 1 };
  const queries: readonly UsageQuery[] = [
    own,
    { ...own, accountId: null },
    { ...own, fromMs: own.fromMs + 9 * hourMs, toMs: own.toMs - 30 * hourMs },
    { ...own, only: { model: ['a/other'], status: ['200'] } },
    { ...own, only: { key: [String(keyId)] } },
    { ...own, only: { key: ['0'] } },
  ];
  const readAll = async () => [
    ...(await Promise.all(queries.map(read))),
    await usageBy(database, own, { by: 'key', limit: 5, ranking: 'cost' }),
    await usageOfApps(database, own),
  ];
  const fromRecords = await readAll();
  clock.advance(2 * hourMs);
  await world.rollUp();
  assert.deepEqual(await readAll(), fromRecords);
  const [first] = await usageSeries(database, own, { step: 'week' });
  const date = new Date((first?.startMs ?? 0) + 9 * hourMs);
  assert.deepEqual([date.getUTCDay(), date.getUTCHours()], [1, 0], 'weeks begin on Monday in Seoul');
});

test('a roller that is killed between deleting and inserting leaves the rollups as they were', async (t) => {
  const world = await openWorld(t);
  for (let hours = 0; hours < 4; hours += 1) {
    await world.use(10n);
    world.clock.advance(hourMs);
  }
  await world.rollUp();
  const before = await world.database.query('SELECT * FROM usage_hour ORDER BY 1, 2, 3');
  assert.ok(before.length > 0);
  // The roller waits for this lock with its deletions made.
  const unlock = await lockTable(world.database, 'key_usage_day', 'ACCESS EXCLUSIVE');
  t.after(unlock);
  const rolled = await readRolledUntil(world.database);
  assert.ok(rolled !== null);
  await world.database.query('INSERT INTO stale_hour (account_id, hour) VALUES ($1, $2)', [
    world.accountId,
    new Date(rolled - hourMs).toISOString(),
  ]);
  const killed = assert.rejects(world.roller().run());
  await until('the roller waits', () => isTableAwaited(world.database.address));
  await killWaiting(world.database.address);
  await killed;
  await unlock();
  assert.deepEqual(await world.database.query('SELECT * FROM usage_hour ORDER BY 1, 2, 3'), before);
  await world.roller().run();
  assert.deepEqual(await world.database.query('SELECT * FROM usage_hour ORDER BY 1, 2, 3'), before);
  await assertAgrees(world);
});

test('usage on both sides of midnight in Seoul counts for its day', async (t) => {
  const world = await openWorld(t);
  const midnight = (Math.floor((world.clock.now() + 9 * hourMs) / dayMs) + 1) * dayMs - 9 * hourMs;
  world.clock.advance(midnight - 1 - world.clock.now());
  await world.use(3n);
  world.clock.advance(1);
  await world.use(5n);
  const days = async () =>
    (
      await usageSeries(
        world.database,
        { accountId: world.accountId, fromMs: midnight - dayMs, toMs: midnight + dayMs },
        { step: 'day' },
      )
    ).map(({ startMs, cost }) => [startMs, cost]);
  const expected = [
    [midnight - dayMs, 3n],
    [midnight, 5n],
  ];
  assert.deepEqual(await days(), expected);
  world.clock.advance(3 * hourMs);
  await world.rollUp();
  assert.deepEqual(await days(), expected);
});

test('groups are the first values by a sum, and the rest as one; filters accept listed values', async (t) => {
  const world = await openWorld(t);
  for (const [model, cost] of [
    ['a/one', 5n],
    ['a/two', 9n],
    ['a/three', 1n],
    ['a/four', 2n],
  ] as const)
    await world.use(cost, 0, { model });
  const all = { accountId: world.accountId, fromMs: world.startMs, toMs: world.clock.now() + 1 };
  const check = async (): Promise<void> => {
    const groups = await usageBy(world.database, all, { by: 'model', limit: 2, ranking: 'cost' });
    assert.deepEqual(
      groups.map(({ value, cost, requests }) => [value, cost, requests]),
      [
        ['a/two', 9n, 1n],
        ['a/one', 5n, 1n],
        [null, 3n, 2n],
      ],
    );
    const one = await usageTotals(world.database, { ...all, only: { model: ['a/one', 'a/four'] } });
    assert.deepEqual([one.cost, one.requests], [7n, 2n]);
    const everyone = await usageBy(
      world.database,
      { ...all, accountId: null },
      { by: 'model', limit: 9, ranking: 'requests' },
    );
    assert.equal(everyone.length, 4);
  };
  await check();
  world.clock.advance(2 * hourMs);
  await world.rollUp();
  await check();
});

test('percentiles of a step are those of its requests, before and after rolling up', async (t) => {
  const world = await openWorld(t);
  for (const ms of [100, 200, 300, 400, 5_000])
    await world.use(1n, 0, {
      completionTokens: 100,
      detail: JSON.stringify({ latency_ms: ms, generation_ms: 2 * ms, streamed: true }),
    });
  const all = { accountId: world.accountId, fromMs: world.startMs, toMs: world.clock.now() + 1 };
  const check = async (): Promise<void> => {
    const found = await Promise.all(
      (['ttft', 'duration', 'speed'] as const).map((distribution) =>
        usagePercentiles(world.database, all, { distribution, step: null }),
      ),
    );
    const expected = [
      [300, 5_000],
      [600, 10_000],
      [333, 1_000],
    ];
    for (const [at, [point]] of found.entries()) {
      assert.equal(point?.count, 5n);
      for (const [value, exact = 0] of [
        [point?.p50 ?? 0, expected[at]?.[0]],
        [point?.p95 ?? 0, expected[at]?.[1]],
      ] as const)
        assert.ok(Math.abs(value / exact - 1) < 0.06, `${value} for ${exact}`);
    }
  };
  await check();
  world.clock.advance(2 * hourMs);
  await world.rollUp();
  await check();
});

test('percentiles of a dimension are those of each value, before and after rolling up', async (t) => {
  const world = await openWorld(t);
  for (const [model, ms] of [
    ['a/fast', 100],
    ['a/fast', 120],
    ['a/slow', 4_000],
    ['a/rare', 900],
  ] as const)
    await world.use(model === 'a/rare' ? 0n : 1n, 0, {
      model,
      detail: JSON.stringify({ latency_ms: ms, generation_ms: 2 * ms, streamed: true }),
    });
  const all = { accountId: world.accountId, fromMs: world.startMs, toMs: world.clock.now() + 1 };
  const check = async (): Promise<void> => {
    const points = await usagePercentiles(world.database, all, {
      distribution: 'ttft',
      step: null,
      groups: { by: 'model', limit: 2, ranking: 'cost' },
    });
    const found = new Map(points.map((point) => [point.value, point]));
    for (const [model, count, p95] of [
      ['a/fast', 2n, 120],
      ['a/slow', 1n, 4_000],
      [null, 1n, 900],
    ] as const) {
      assert.equal(found.get(model)?.count, count);
      assert.ok(Math.abs((found.get(model)?.p95 ?? 0) / p95 - 1) < 0.06, `${model}`);
    }
  };
  await check();
  world.clock.advance(2 * hourMs);
  await world.rollUp();
  await check();
});
