/** The daily sync: once a day in Seoul time, across restarts and any number of nodes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readBenchmarks } from '../../src/datasets/benchmarks.ts';
import { DatasetSync, datasetNames } from '../../src/datasets/sync.ts';
import { silentLog } from '../../src/log/log.ts';
import { reply } from '../harness/upstream.ts';
import {
  aaItem,
  manyApps,
  page,
  type ScriptedSource,
  syncForEach,
  type TestSync,
} from './scripted-source.ts';

let source: ScriptedSource;
let at: TestSync;

syncForEach((one, sync) => {
  [source, at] = [one, sync];
});

/** How often the app ranking was begun. */
function beginnings(): number {
  return source.sent().filter((path) => /app-rankings.*offset=0/.test(path)).length;
}

test('the first sync is due at once, and then every day at ten in Seoul', async () => {
  at.clock.set('2026-11-19T03:00:00+09:00');
  await at.another().syncDue();
  assert.equal(beginnings(), 1);
  assert.equal((await readBenchmarks(at.database))?.rows.length, 1);
  // A restart is another object at the same database.
  for (const [instant, count] of [
    ['2026-11-19T03:00:01+09:00', 1],
    ['2026-11-19T09:59:59+09:00', 1],
    ['2026-11-19T10:00:00+09:00', 2],
    ['2026-11-19T23:59:59+09:00', 2],
    ['2026-11-20T09:00:00+09:00', 2],
    ['2026-11-20T10:00:01+09:00', 3],
    ['2026-11-23T17:00:00+09:00', 4],
  ] as const) {
    at.clock.set(instant);
    await at.another().syncDue();
    assert.equal(beginnings(), count, instant);
  }
});

test('one of several nodes syncs', async () => {
  await Promise.all([at.another(), at.another(), at.another()].map((node) => node.syncDue()));
  assert.equal(beginnings(), 1);
  await at.another().syncDue();
  assert.equal(beginnings(), 1);
});

test('a dataset that a dead node had taken is taken again after a quarter of an hour', async () => {
  source.upstream.always(reply.hang());
  const dead = at.another();
  const syncing = dead.syncDue();
  syncing.catch(() => {});
  await source.upstream.request(1);
  source.upstream.respond(() => page(manyApps(1), { start_date: '2026-11-01', end_date: '2026-11-02' }));
  at.clock.advance(14 * 60_000);
  await at.another().syncDue();
  assert.equal(beginnings(), 1);
  at.clock.advance(2 * 60_000);
  await at.another().syncDue();
  assert.equal(beginnings(), 2);
});

// spec:money/7.9
test('a day and a retry that a clock ahead has stored delay nothing', async () => {
  at.clock.set('2026-12-24T12:00:00+09:00');
  await at.another().syncDue();
  assert.equal(beginnings(), 1);
  await at.database.transaction((tx) =>
    tx.query('UPDATE dataset_sync SET retry_at = to_timestamp($1::float8 / 1000)', [
      at.clock.now() + 300_000,
    ]),
  );
  at.clock.set('2026-11-19T12:00:00+09:00');
  await at.another().syncDue();
  assert.equal(beginnings(), 2);
  await at.another().syncDue();
  assert.equal(beginnings(), 2, 'the day is done now');
});

test('a failure is retried after a minute, then after two, four … up to an hour, and is logged', async () => {
  source.upstream.always(reply.status(500));
  const node = at.another();
  const waits: number[] = [];
  for (let n = 0; n < 9; n += 1) {
    await node.syncDue();
    const lines = at.logged.filter(
      (line) => line['event'] === 'dataset_sync_failed' && line['dataset'] === 'app-rankings',
    );
    assert.equal(lines.length, n + 1);
    assert.equal(lines.at(-1)?.['failures'], n + 1);
    const retryAtMs = Date.parse(String(lines.at(-1)?.['retry_at']));
    waits.push(Math.round((retryAtMs - at.clock.now()) / 60_000));
    at.clock.set(new Date(retryAtMs - 1_000).toISOString());
    await node.syncDue();
    assert.equal(beginnings(), n + 1, 'no early request');
    at.clock.set(new Date(retryAtMs + 1_000).toISOString());
  }
  assert.deepEqual(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
  // The source is well again: the day is done.
  source.upstream.respond(() => page(manyApps(100), { start_date: '2026-11-01', end_date: '2026-11-02' }));
  source.upstream.next(
    page(manyApps(3), { start_date: '2026-11-01', end_date: '2026-11-02' }),
    page([], { start_date: '2026-11-01', end_date: '2026-11-02' }),
  );
  await node.syncDue();
  assert.ok(
    at.logged.some((line) => line['event'] === 'dataset_synced' && line['dataset'] === 'app-rankings'),
  );
  await node.syncDue();
  assert.equal(beginnings(), 10);
});

test('a Retry-After puts the next attempt off', async () => {
  source.upstream.always(reply.tooMany('7200'));
  assert.equal((await at.sync('app-rankings')).kind, 'failed');
  assert.equal(source.sent().length, 1);
  const line = at.logged.find((each) => each['event'] === 'dataset_sync_failed');
  const waitMs = Date.parse(String(line?.['retry_at'])) - at.clock.now();
  assert.ok(waitMs > 7_190_000 && waitMs <= 7_200_000, `${waitMs}`);
});

test('requests to the source respect its rate, also across restarts', async () => {
  source.apps = manyApps(160);
  const spacingMs = 600;
  await at.another({ spacingMs }).syncNow(['app-rankings']);
  await at.another({ spacingMs }).syncNow(['app-rankings']);
  const [first = 0, ...later] = source.upstream.requests.map((request) => request.atMs);
  assert.equal(later.length, 3);
  // Measured at arrival: a delay of the first request shortens the sum, any other lengthens it.
  const elapsedMs = (later.at(-1) ?? 0) - first;
  assert.ok(elapsedMs > 2.1 * spacingMs, `${elapsedMs} ms for three intervals`);
});

test('a day has at most the allowed number of requests over all processes, and as many on the next day', async () => {
  at.clock.set('2026-11-19T22:00:00Z');
  const pace = { requestsPerDay: 4 };
  const [first] = (await at.another(pace).syncNow(['benchmarks'])) as readonly {
    kind: string;
    reason?: string;
  }[];
  assert.equal(first?.kind, 'failed');
  assert.match(first?.reason ?? '', /4 requests of today are used up/);
  assert.equal(source.sent().length, 4);
  await at.another(pace).syncNow(['benchmarks']);
  assert.equal(source.sent().length, 4);
  at.clock.set('2026-11-20T00:00:01Z');
  await at.another({ requestsPerDay: 6 }).syncNow(['benchmarks']);
  assert.equal(source.sent().length, 10);
  assert.equal((await readBenchmarks(at.database))?.rows.length, 1);
});

test('benchmarks are read in parts and published as a whole', async () => {
  source.benchmarks = [aaItem('a/one', 60), { ...designItem('b/two'), arena: 'agents' }, designItem('b/two')];
  source.upstream.next(page([aaItem('a/one', 60)], { as_of: '2026-11-18T00:00:00Z' }), reply.status(404));
  assert.equal((await at.sync('benchmarks')).kind, 'failed');
  assert.equal(await readBenchmarks(at.database), null);
  assert.equal((await at.sync('benchmarks')).kind, 'synced');
  const stored = await readBenchmarks(at.database);
  assert.equal(stored?.rows.length, 3);
  assert.equal(stored?.about['design-arena']?.citation, 'Source: design-arena.');

  source.benchmarks = [aaItem('a/one', null), { ...aaItem('a/two', 1), coding_index: 'high' }];
  assert.equal((await at.sync('benchmarks')).kind, 'failed');
  assert.equal((await readBenchmarks(at.database))?.rows.length, 3);
});

test('without a sync key no request is sent', async () => {
  const settings = { ...source.settings, syncKey: null };
  const { database, clock } = at;
  const idle = new DatasetSync({
    settings,
    database,
    clock,
    log: silentLog,
  });
  await idle.syncDue();
  assert.equal(await idle.syncNow(datasetNames), 'no_key');
  await idle.close();
  assert.equal(source.sent().length, 0);
});

test('a running sync ends when the server stops, and another process may begin it again at once', async () => {
  source.upstream.always(reply.hang());
  const node = at.another();
  const syncing = node.syncDue();
  syncing.catch(() => {});
  await source.upstream.request(1);
  await node.close();
  await assert.rejects(syncing, /the server is stopping/);
  source.upstream.respond(() => page(manyApps(1), { start_date: '2026-11-01', end_date: '2026-11-02' }));
  await at.another().syncDue();
  assert.equal(beginnings(), 2);
});

function designItem(model: string): Record<string, unknown> {
  const stats = { first_place: 1, second_place: 2, third_place: null, fourth_place: 0, total: 3 };
  return {
    source: 'design-arena',
    model_permaslug: model,
    display_name: model,
    arena: 'models',
    category: 'codecategories',
    elo: 1400.5,
    win_rate: 70,
    avg_generation_time_ms: null,
    tournament_stats: stats,
    pricing: null,
  };
}
