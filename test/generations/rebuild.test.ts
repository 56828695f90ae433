/**
 * `naru usage rebuild`: whatever happened to the rollups, and whatever was dropped of the records,
 * the hours are what they were.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { type TestContext, test } from 'node:test';
import { UsageRoller } from '../../src/generations/analytics/roll-usage.ts';
import { holdRollups, keepHours, readRolledUntil } from '../../src/generations/analytics/rolling-sql.ts';
import { usageSeries } from '../../src/generations/analytics/usage-sql.ts';
import { ensurePartitions } from '../../src/generations/partitions.ts';
import { pruneGenerations } from '../../src/ledger/retention.ts';
import type { SettlementRow } from '../../src/ledger/settlement-sql.ts';
import { Database } from '../../src/store/database.ts';
import { type Sql, sqlOver } from '../../src/store/sql.ts';
import { seoulDayAt } from '../../src/time/period.ts';
import { newGenerationUuid } from '../../src/wire/ids/generation-id.ts';
import { createInstallation } from '../cli/naru.ts';
import { urlOf } from '../harness/database.ts';
import { program } from '../harness/program.ts';
import { fullOnly } from '../harness/tier.ts';
import { until } from '../harness/until.ts';
import { type LedgerWorld, openLedger } from '../ledger/world.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const march = Date.parse('2026-03-01T00:00:00+09:00');
const april = Date.parse('2026-04-01T00:00:00+09:00');

interface World extends LedgerWorld {
  /** Settles a generation of this instant. */
  use(atMs: number, cost: bigint, more?: Partial<SettlementRow>): Promise<void>;
  /** Rolls up every closed hour; other databases of the server may delay it. */
  rollUp(): Promise<void>;
  rows(): Promise<readonly object[]>;
  faults(): Promise<readonly object[]>;
}

/** The days of which pages show something else than settlements added up. */
async function faultsOf({ database, accountId, clock }: LedgerWorld): Promise<readonly object[]> {
  const used = await database.query<{ start: number; requests: bigint; cost: bigint }>(
    `SELECT day::timestamp AT TIME ZONE 'Asia/Seoul' AS start, sum(requests)::bigint AS requests, sum(cost)::bigint AS cost
     FROM key_usage_day GROUP BY day`,
  );
  const faults: object[] = [];
  for (const account of [accountId, null]) {
    const query = { accountId: account, fromMs: march - 100 * dayMs, toMs: clock.now() + 1 };
    const days = await usageSeries(database, query, { step: 'day' });
    const shown = new Map(days.map(({ startMs, ...sums }) => [startMs, sums]));
    for (const { start, requests, cost } of used) {
      const { requests: found = 0n, cost: foundCost = 0n } = shown.get(start) ?? {};
      if (found !== requests || foundCost !== cost) faults.push({ account, start, requests, found });
      shown.delete(start);
    }
    faults.push(
      ...[...shown].map(([start, { requests }]) => ({ account, start, requests: 0n, found: requests })),
    );
  }
  return faults;
}

async function openWorld(t: TestContext): Promise<World> {
  const world = await openLedger(t);
  const { database, clock } = world;
  clock.freeze(march - 2 * dayMs);
  await ensurePartitions(database, clock.now());
  await world.grant(1_000_000_000n);
  return {
    ...world,
    async use(atMs, cost, more = {}) {
      clock.freeze(atMs);
      await ensurePartitions(database, atMs);
      await world.settle(
        world.generation(cost, {
          completionTokens: 100,
          detail: JSON.stringify({ latency_ms: 200, generation_ms: 900, streamed: true }),
          ...more,
        }),
      );
    },
    async rollUp() {
      const roller = new UsageRoller({ database, clock });
      const closedMs = Math.floor((clock.now() - 31_000) / hourMs) * hourMs;
      await until('every closed hour is rolled up', async () => {
        await roller.run();
        return ((await readRolledUntil(database)) ?? 0) >= closedMs;
      });
    },
    rows: () => database.query('SELECT * FROM usage_hour ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10'),
    faults: () => faultsOf(world),
  };
}

/** A request every seven hours on some days from February to April, some of which failed. */
async function threeMonths(t: TestContext): Promise<World> {
  const world = await openWorld(t);
  let count = 0;
  for (
    let at = march - dayMs;
    at < april + dayMs;
    at += (at > march + 3 * dayMs && at < april - 2 * dayMs ? 5 * dayMs : 0) + 7 * hourMs
  ) {
    const failed = { status: 502, errorType: 'provider_error', model: null };
    count += 1;
    if (count % 5 === 0) await world.use(at, 0n, failed);
    else await world.use(at, BigInt(1_000 + count));
  }
  // Created in March, settled in April; and one that was settled weeks after its creation.
  await world.use(april + 60_000, 77n, { uuid: newGenerationUuid(april - 1), createdAtMs: april - 1 });
  await world.use(april + dayMs, 0n, {
    uuid: newGenerationUuid(march + dayMs),
    createdAtMs: march + dayMs,
    status: 500,
    model: null,
  });
  world.clock.freeze(april + 2 * dayMs);
  await world.rollUp();
  return world;
}

test('a rebuild makes lost, doubled and invented hours what they were', async (t) => {
  const world = await threeMonths(t);
  assert.deepEqual(await world.faults(), []);
  const before = await world.rows();
  const faults = [
    'UPDATE usage_hour SET cost = cost + 1 WHERE account_id > 0 AND cost > 1010',
    'UPDATE usage_hour SET ttft_n = duration_n || duration_n WHERE account_id > 0',
    'UPDATE usage_hour SET requests = requests + 1 WHERE account_id = 0',
    "DELETE FROM usage_hour WHERE account_id > 0 AND hour > '2026-03-31'",
    "UPDATE usage_hour SET hour = hour + interval '1 hour' WHERE hour < '2026-03-02'",
  ];
  for (const fault of faults) await world.database.query(fault);
  assert.ok((await world.faults()).length > 0);
  await Array.fromAsync(world.operator.rebuildUsage({}));
  assert.deepEqual(await world.rows(), before);
});

test('a rebuild of a period changes its days only', async (t) => {
  const world = await threeMonths(t);
  const before = await world.rows();
  await world.database.query('UPDATE usage_hour SET requests = requests + 1');
  const spans = await Array.fromAsync(
    world.operator.rebuildUsage({ fromMs: march + dayMs, toMs: march + 3 * dayMs }),
  );
  assert.equal(
    spans.reduce((hours, span) => hours + (span.toMs - span.fromMs) / hourMs, 0),
    48,
  );
  const isInside = ({ hour }: { hour: number }): boolean => hour >= march + dayMs && hour < march + 3 * dayMs;
  const rows = (await world.rows()) as { hour: number; requests: bigint }[];
  const expected = (before as { hour: number; requests: bigint }[]).map((row) =>
    isInside(row) ? row : { ...row, requests: row.requests + 1n },
  );
  assert.deepEqual(
    rows.map((row) => ({ ...row })),
    expected.map((row) => ({ ...row })),
  );
});

test('hours outlive their records: pruning, rebuilding and late requests lose and double nothing', async (t) => {
  const world = await threeMonths(t);
  const before = await world.rows();
  world.clock.freeze('2026-05-03T12:00:00+09:00');
  await world.rollUp();
  const outcome = await world.operator.pruneGenerations({ beforeMs: april, dryRun: false });
  assert.deepEqual(outcome.kind === 'pruned' && outcome.months.map(({ month }) => month), [
    '2026-02',
    '2026-03',
  ]);
  assert.deepEqual(await world.faults(), []);
  await world.database.query('DELETE FROM usage_hour');
  await Array.fromAsync(world.operator.rebuildUsage({}));
  assert.deepEqual(await world.rows(), before);
  assert.deepEqual(await world.faults(), []);

  // A journal that was away: a request of a dropped hour.
  const settledAtMs = march + dayMs;
  const late = { uuid: newGenerationUuid(settledAtMs), createdAtMs: settledAtMs, settledAtMs };
  await world.settle(world.generation(5n, { ...late, day: seoulDayAt(settledAtMs) }));
  assert.equal((await world.faults()).length, 2);
  await world.rollUp();
  assert.deepEqual(await world.faults(), []);
  await Array.fromAsync(world.operator.rebuildUsage({}));
  assert.deepEqual(await world.faults(), []);
});

// test/generations/rollups.test.ts kills between deleting and inserting; the tests above rebuild.
test('a rebuild that is killed half-way is made again, beside settlements', fullOnly, async (t) => {
  const world = await threeMonths(t);
  const { database, clock } = world;
  const installation = createInstallation();
  t.after(() => installation.remove());
  const file = installation.configure({ database: { url: urlOf(database.address) } });
  const before = await world.rows();
  await database.query('UPDATE usage_hour SET requests = requests + 1, cost = cost + 1');
  // The rebuild waits for this row when it has rebuilt the hours before it.
  const blocker = await database.connect(60_000);
  t.after(() => blocker.end());
  await blocker.query('BEGIN');
  const { rows } = await blocker.query<{ hour: number }>(
    "SELECT hour FROM usage_hour WHERE account_id > 0 AND hour > '2026-03-03' ORDER BY hour LIMIT 1 FOR UPDATE",
  );
  const blockedHour = rows[0]?.hour ?? 0;
  const args = ['usage', 'rebuild', '--data-dir', installation.dataDir, '--config', file];
  const child = spawn(process.execPath, [program(), ...args], { stdio: 'ignore' });
  const ended = new Promise((resolve) => child.on('exit', resolve));
  await until(
    'the rebuild waits for the row',
    async () => {
      assert.equal(child.exitCode, null);
      // A transaction that is idle for a minute is ended, and its lock with it.
      await blocker.query('SELECT 1');
      const waiting = await database.query(
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'DELETE FROM usage_hour%'",
      );
      return waiting.length > 0;
    },
    60_000,
  );
  child.kill('SIGKILL');
  await ended;
  await blocker.query('ROLLBACK');
  const requests = (list: readonly object[]): readonly (readonly [number, bigint])[] =>
    (list as { hour: number; requests: bigint }[]).map(({ hour, requests: count }) => [hour, count]);
  const halfWay = requests(await world.rows());
  for (const [at, [hour, count]] of requests(before).entries())
    assert.deepEqual(halfWay[at], [hour, hour < blockedHour - 6 * hourMs ? count : halfWay[at]?.[1]]);
  assert.ok((await world.faults()).length > 0);

  // The next one runs beside settlements, late and in time.
  clock.freeze(april + 2 * dayMs + 1_000);
  const settling = (async () => {
    for (let at = 0; at < 20; at += 1) {
      const settledAtMs = at % 2 === 0 ? clock.now() : march + at * hourMs;
      const late = { uuid: newGenerationUuid(settledAtMs), createdAtMs: settledAtMs, settledAtMs };
      await world.settle(world.generation(1n, { ...late, day: seoulDayAt(settledAtMs) }));
    }
  })();
  const again = await installation.json('usage', 'rebuild', '--config', file);
  assert.deepEqual([again.code, again.err], [0, '']);
  assert.ok(again.rows.length >= 10, `one row for each day: ${again.out}`);
  await settling;
  await world.rollUp();
  assert.deepEqual(await world.faults(), []);
});

test('a month that is dropped several times at once, while its hours are rolled up for the first time, keeps them', async (t) => {
  const ledger = await openLedger(t);
  const { clock, database } = ledger;
  clock.set('2026-03-10T12:00:00+09:00');
  await ensurePartitions(database, clock.now());
  for (let n = 0; n < 20; n += 1) await ledger.settle(ledger.generation(10n), ledger.generation(0n));
  clock.set('2026-06-10T12:00:00+09:00');
  await ensurePartitions(database, clock.now());
  const options = { beforeMs: Date.parse('2026-04-01T00:00:00+09:00'), dryRun: false };
  const prune = (of: Database) => pruneGenerations(of, options, { nowMs: clock.now(), keep: keepHours });
  const others = [1, 2].map(() => new Database(database.address, 4));
  t.after(() => Promise.all(others.map((each) => each.close())));
  const roller = new UsageRoller({ database, clock });
  const pruned = { kind: 'pruned', months: [{ month: '2026-03', records: 40, costMicro: 200n }] };
  const [one, two, three] = await Promise.all([
    ...[database, ...others].map((each) => prune(each)),
    roller.run(),
    (async () => {
      for (let n = 0; n < 30; n += 1) await ledger.settle(ledger.generation(1n));
    })(),
  ]);
  assert.deepEqual([one, two, three], [pruned, pruned, pruned]);
  assert.deepEqual(await ledger.differences(), []);
  assert.deepEqual(await prune(database), { kind: 'pruned', months: [] });
  await roller.run();
  assert.deepEqual(await faultsOf(ledger), []);
});

test('hours that are not rolled up while another process has the lock are rolled up before later ones', async (t) => {
  const world = await openWorld(t);
  await world.use(march, 5n);
  await world.use(march + dayMs, 7n);
  world.clock.freeze(march + 2 * dayMs);
  const holder = await world.database.connect(60_000);
  t.after(() => holder.end());
  await holder.query('BEGIN');
  await holdRollups(sqlOver(holder));
  const faults: (readonly object[])[] = [];
  class Watched extends Database {
    override async transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
      const done = await super.transaction(work);
      // The first one did not get the lock; the others do.
      if (faults.length === 0) await holder.query('COMMIT');
      // Read after each: the last ones are computed again in the end.
      faults.push(await world.faults());
      return done;
    }
  }
  const database = new Watched(world.database.address, 4);
  t.after(() => database.close());
  const roller = new UsageRoller({ database, clock: world.clock });
  await until('the usage is rolled up', async () => {
    await roller.run();
    return (await readRolledUntil(database)) === march + 2 * dayMs - hourMs;
  });
  assert.deepEqual(faults.flat(), []);
});
