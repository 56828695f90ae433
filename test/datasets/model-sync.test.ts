/** The model ranking grows window by window, continues where it was, and adds up. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ranked, readModelSeries, readThrough } from '../../src/datasets/model-rankings.ts';
import { reply } from '../harness/upstream.ts';
import { modelRow, page, type ScriptedSource, syncForEach, type TestSync } from './scripted-source.ts';

let source: ScriptedSource;
let at: TestSync;
const dayOf = (text: string): number => Date.parse(text) / 86_400_000;

syncForEach((one, sync) => {
  [source, at] = [one, sync];
});

/** The windows that were requested of all traffic, as `start..end`. */
function windows(from = 0): readonly string[] {
  return source
    .sent()
    .slice(from)
    .map((path) => new URL(path, 'http://x').searchParams)
    .filter((query) => [...query].length === 2)
    .map((query) => `${query.get('start_date')}..${query.get('end_date')}`);
}

async function tokensOf(model: string): Promise<readonly bigint[]> {
  const series = await readModelSeries(at.database, 'all', 0, 30_000);
  return (series?.rows ?? []).filter((row) => row.model === model).map((row) => row.totalTokens);
}

test('the first sync reads everything since 2025 without a gap, the next only what may have changed', async () => {
  const outcome = await at.sync('rankings-daily');
  assert.deepEqual(outcome, { dataset: 'rankings-daily', kind: 'synced', rows: 2, through: '2026-11-18' });
  const all = windows();
  assert.equal(all[0], '2025-01-01..2025-04-02');
  assert.equal(all.at(-1)?.slice(-10), '2026-11-18');
  for (const [index, window] of all.entries()) {
    const next = all[index + 1];
    if (next !== undefined) assert.equal(dayOf(next.slice(0, 10)), dayOf(window.slice(-10)) + 1);
  }
  assert.ok(source.sent().length < 160, `${source.sent().length} requests`);

  const before = source.sent().length;
  at.clock.advance(24 * 3_600_000);
  source.models = [modelRow('2026-11-18', 'a/one', '11'), modelRow('2026-11-19', 'a/one', '5')];
  await at.sync('rankings-daily');
  assert.deepEqual(windows(before), ['2026-11-16..2026-11-19']);
  assert.equal(source.sent().length - before, 25);
  assert.deepEqual(await tokensOf('a/one'), [11n, 5n]);
  assert.deepEqual(await tokensOf('other'), [], 'a date that is read again is replaced as a whole');
});

test('weekly slices are requested by week', async () => {
  await at.sync('rankings-daily');
  const weekly = source.sent().filter((path) => /category=legal/.test(path));
  assert.deepEqual(
    weekly.map((path) => /period=week/.test(path)),
    [true, true],
  );
});

test('an interrupted sync continues behind its last window', async () => {
  source.models = [modelRow('2025-02-01', 'a/one', '1'), modelRow('2026-11-18', 'a/one', '9'.repeat(30))];
  const first = page([modelRow('2025-02-01', 'a/one', '1')], {
    start_date: '2025-01-01',
    end_date: '2025-04-02',
  });
  source.upstream.next(first, reply.status(500));
  assert.equal((await at.sync('rankings-daily')).kind, 'failed');
  assert.equal(await readThrough(at.database, 'all'), dayOf('2025-04-02'));
  const before = source.sent().length;
  await at.sync('rankings-daily');
  assert.equal(windows(before)[0]?.slice(0, 10), '2025-03-31');
  assert.deepEqual(await tokensOf('a/one'), [1n, BigInt('9'.repeat(30))]);
});

test('an empty response removes nothing, and the series counts as read', async () => {
  await at.sync('rankings-daily');
  source.models = [];
  at.clock.advance(24 * 3_600_000);
  await at.sync('rankings-daily');
  at.clock.advance(24 * 3_600_000);
  await at.sync('rankings-daily');
  assert.deepEqual(await tokensOf('a/one'), [10n]);
  assert.equal(await readThrough(at.database, 'all'), dayOf('2026-11-20'));
  const idle = await at.database.query("SELECT 1 FROM dataset_period WHERE rows = 0 AND series = 'all'");
  assert.equal(idle.length, 1, 'one period states how far it was read');
});

test('invalid rows change no published row', async () => {
  await at.sync('rankings-daily');
  const wrong: readonly unknown[][] = [
    [modelRow('2026-11-18', 'a/one', '1'), modelRow('2026-11-18', 'a/one', '2')],
    [modelRow('2026-11-18', 'a/one', -1)],
    [modelRow('2026-11-18', 'a/one', null)],
    [modelRow('2026-11-18', '', '1')],
    [modelRow('yesterday', 'a/one', '1')],
    [modelRow('2024-12-31', 'a/one', '1')],
    [modelRow('2026-11-19', 'a/one', '1')],
  ];
  for (const rows of wrong) {
    source.upstream.always(page(rows, { start_date: '2026-11-16', end_date: '2026-11-18' }));
    assert.equal((await at.sync('rankings-daily')).kind, 'failed', JSON.stringify(rows));
    assert.deepEqual(await tokensOf('a/one'), [10n]);
  }
});

test('weeks and months are sums of days, with the same total', () => {
  const rows = Array.from({ length: 60 }, (_, index) => ({
    day: dayOf('2026-10-01') + index,
    model: `m/${index % 55}`,
    totalTokens: 10n ** 25n + BigInt(index),
  }));
  const total = rows.reduce((sum, row) => sum + row.totalTokens, 0n);
  for (const grain of ['day', 'week', 'month'] as const) {
    const found = ranked(rows, grain);
    assert.equal(
      found.reduce((sum, row) => sum + row.totalTokens, 0n),
      total,
      grain,
    );
    assert.deepEqual(
      [...found].map((row) => row.day).sort((one, two) => one - two),
      found.map((row) => row.day),
    );
  }
  assert.deepEqual(
    [...new Set(ranked(rows, 'month').map((row) => row.day))],
    [dayOf('2026-10-01'), dayOf('2026-11-01')],
  );
  assert.equal(ranked(rows, 'week')[0]?.day, dayOf('2026-09-28'), 'a week begins on Monday');
});

test('of many models the first fifty have a row, and the rest are added to `other`, which is last', () => {
  const models = Array.from({ length: 60 }, (_, index) => ({
    day: 20_100,
    model: `m/${String(index).padStart(2, '0')}`,
    totalTokens: index < 2 ? 500n : BigInt(index),
  }));
  const found = ranked([{ day: 20_100, model: 'other', totalTokens: 10_000n }, ...models], 'day');
  assert.equal(found.length, 51);
  assert.deepEqual(
    found.slice(0, 3).map((row) => row.model),
    ['m/00', 'm/01', 'm/59'],
  );
  // 10,000 of the source's and the ten smallest: 2 + … + 11.
  assert.deepEqual([found.at(-1)?.model, found.at(-1)?.totalTokens], ['other', 10_065n]);
});
