/** `GET /datasets/rankings-daily` and `GET /benchmarks` in OpenRouter's shapes (spec:compat/11). */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { DatasetSync } from '../../src/datasets/sync.ts';
import { silentLog } from '../../src/log/log.ts';
import {
  aaItem,
  hurried,
  modelRow,
  type Row,
  type ScriptedSource,
  startSource,
} from '../datasets/scripted-source.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { assertError } from '../harness/response-rules.ts';

let source: ScriptedSource;
let naru: TestGateway;
let sampled: TestGateway;
let account: TestAccount;
let guest: TestAccount;
const huge = '9'.repeat(30);

before(async () => {
  source = await startSource();
  naru = await startTestGateway();
  naru.clock.set('2026-11-19T12:00:00+09:00');
  account = await naru.account();
  source.models = [
    modelRow('2026-11-18', 'b/two', '20'),
    modelRow('2026-11-18', 'a/one', '20'),
    modelRow('2026-11-18', 'other', '500'),
    modelRow('2026-11-18', 'c/three', huge),
    modelRow('2026-11-17', 'a/one', '7'),
    modelRow('2026-10-01', 'a/one', '3'),
  ];
  const run = {
    model_permaslug: 'a/one',
    display_name: 'One',
    total_tasks: 100,
    avg_cost_per_task: 0.01,
    last_run_timestamp: '2026-11-01T00:00:00Z',
  };
  source.benchmarks = [
    aaItem('a/one', 60),
    aaItem('b/two', null),
    design('a/one', 'models', 'codecategories'),
    design('a/one', 'models', 'dataviz'),
    design('a/one', 'agents', 'tools'),
    { source: 'openrouter', ...run, benchmark_type: 'gpqa_diamond', accuracy: 0.5, accuracy_stddev: null },
    {
      source: 'openrouter',
      ...run,
      benchmark_type: 'search_hle',
      primary_metric: 'accuracy',
      primary_score: 0.4,
      avg_latency_per_task_ms: 10,
      search_engine: 'exa',
      search_surface: 'plugin',
      run_config: { max_agent_turns: null, reasoning_effort: 'high', temperature: 0.2 },
    },
  ];
  const sync = new DatasetSync({
    settings: source.settings,
    database: naru.database,
    clock: naru.clock,
    log: silentLog,
    pace: hurried,
  });
  await sync.syncNow(['rankings-daily', 'benchmarks']);
  await sync.close();
  sampled = await startTestGateway({ config: { datasets: { samples: true } } });
  sampled.clock.set('2026-11-19T12:00:00+09:00');
  guest = await sampled.account();
});
after(async () => {
  await naru?.close();
  await sampled?.close();
  await source?.upstream.close();
});

function design(model: string, arena: string, category: string): Row {
  const stats = { first_place: 1, second_place: 2, third_place: 3, fourth_place: 4, total: 10 };
  return {
    source: 'design-arena',
    model_permaslug: model,
    display_name: 'One',
    arena,
    category,
    elo: 1400,
    win_rate: 70,
    avg_generation_time_ms: 3000,
    tournament_stats: stats,
    pricing: null,
  };
}

async function read(path: string): Promise<{ data: Row[]; meta: Row }> {
  const response = await naru.send('GET', path, { key: account.key });
  assert.equal(response.status, 200, response.text);
  return response.json;
}

// spec:conformance/108
test('the model ranking covers the last thirty days: dates ascending, most tokens first, `other` last', async () => {
  const { data, meta } = await read('/datasets/rankings-daily');
  assert.deepEqual(data, [
    { date: '2026-11-17', model_permaslug: 'a/one', total_tokens: '7', source: 'upstream' },
    { date: '2026-11-18', model_permaslug: 'c/three', total_tokens: huge, source: 'upstream' },
    { date: '2026-11-18', model_permaslug: 'a/one', total_tokens: '20', source: 'upstream' },
    { date: '2026-11-18', model_permaslug: 'b/two', total_tokens: '20', source: 'upstream' },
    { date: '2026-11-18', model_permaslug: 'other', total_tokens: '500', source: 'upstream' },
  ]);
  assert.deepEqual(meta, {
    as_of: '2026-11-19T01:00:00.000Z',
    version: 'v1',
    start_date: '2026-10-19',
    end_date: '2026-11-18',
    citation: 'Source: OpenRouter (openrouter.ai/rankings), as of 2026-11-19T01:00:00.000Z.',
    license: 'CC BY 4.0',
    license_url: 'https://creativecommons.org/licenses/by/4.0/',
  });
});

test('a window is used as requested and starts no earlier than the dataset', async () => {
  const { data, meta } = await read('/datasets/rankings-daily?start_date=2024-06-01&end_date=2025-12-31');
  assert.deepEqual([data, meta['start_date'], meta['end_date']], [[], '2025-01-01', '2025-12-31']);
  assert.equal(
    (await read('/datasets/rankings-daily?start_date=2026-10-01&end_date=2026-10-01')).data.length,
    1,
  );
  assert.equal((await read('/datasets/rankings-daily?end_date=2025-01-10')).meta['start_date'], '2025-01-01');
  assert.equal(
    (await read('/datasets/rankings-daily?start_date=2025-11-18&end_date=2026-11-18')).data.length,
    6,
  );
});

test('weeks and months are sums of the days of the window', async () => {
  const weeks = (await read('/datasets/rankings-daily?period=week')).data;
  assert.deepEqual(
    weeks.map((row) => [row['date'], row['model_permaslug'], row['total_tokens']]),
    [
      ['2026-11-16', 'c/three', huge],
      ['2026-11-16', 'a/one', '27'],
      ['2026-11-16', 'b/two', '20'],
      ['2026-11-16', 'other', '500'],
    ],
  );
  const months = (await read('/datasets/rankings-daily?period=month&start_date=2026-10-01')).data;
  assert.deepEqual([...new Set(months.map((row) => row['date']))], ['2026-10-01', '2026-11-01']);
});

test('valid slices without data are empty', async () => {
  for (const query of [
    'modality=text',
    'context_bucket=1K',
    'category=legal',
    'category=legal&period=month',
    'language_type=natural',
    'modality=text&context_bucket=1K',
  ])
    assert.deepEqual((await read(`/datasets/rankings-daily?${query}`)).data, [], query);
});

test('requests that OpenRouter rejects are rejected', async () => {
  const wrong = [
    'start_date=2026-1-1',
    'start_date=2026-02-30',
    'end_date=',
    'end_date=2024-12-31',
    'start_date=2026-11-10&end_date=2026-11-09',
    'start_date=2025-11-17&end_date=2026-11-18',
    'period=year',
    'modality=smell',
    'context_bucket=2K',
    'category=coding',
    'language_type=korean',
    'category=legal&period=day',
    'language_type=natural&period=day',
    'category=legal&language_type=natural',
    'category=legal&modality=text',
    'language_type=natural&context_bucket=1K',
  ];
  for (const query of wrong)
    assertError(
      await naru.send('GET', `/datasets/rankings-daily?${query}`, { key: account.key }),
      400,
      'invalid_request',
    );
});

test('benchmarks have OpenRouter’s shapes and name their source', async () => {
  const { data, meta } = await read('/benchmarks');
  assert.equal(data.length, 7);
  assert.deepEqual(meta, {
    as_of: '2026-11-19T01:00:00.000Z',
    version: 'v1',
    source: null,
    source_url: null,
    citation: null,
    citations: ['Source: artificial-analysis.', 'Source: design-arena.', 'Source: openrouter.'],
    model_count: 2,
    task_type: null,
  });
  const own = await read('/benchmarks?source=artificial-analysis');
  assert.equal(own.meta['citation'], 'Source: artificial-analysis.');
  assert.equal(own.meta['source_url'], 'https://publisher.example');
  assert.deepEqual(own.data[0], aaItem('a/one', 60));
});

test('benchmarks are filtered as in OpenRouter', async () => {
  const counts: Readonly<Record<string, number>> = {
    'source=design-arena': 2,
    'source=design-arena&arena=agents': 1,
    'source=design-arena&category=dataviz': 1,
    'source=openrouter': 2,
    'task_type=coding': 2,
    'task_type=intelligence': 3,
    'task_type=agentic': 1,
    'task_type=search': 1,
    'benchmark_type=search_hle': 1,
    'benchmark_type=search_dsqa': 0,
    'benchmark_type=gpqa_diamond': 6,
    'task_type=search&search_engine=exa': 1,
    'task_type=search&search_engine=other': 0,
    'task_type=search&search_surface=server-tool': 0,
    'max_results=2': 2,
    'max_results=1000': 7,
    'unknown=1': 7,
  };
  for (const [query, count] of Object.entries(counts))
    assert.equal((await read(`/benchmarks?${query}`)).data.length, count, query);
  const configOf = async (query: string): Promise<unknown> =>
    (await read(`/benchmarks?task_type=search${query}`)).data[0]?.['run_config'];
  assert.equal(await configOf(''), undefined);
  assert.equal(await configOf('&include_run_config=false'), undefined);
  assert.deepEqual(await configOf('&include_run_config=true'), {
    max_agent_turns: null,
    reasoning_effort: 'high',
    temperature: 0.2,
  });
  for (const query of [
    'source=mine',
    'task_type=x',
    'benchmark_type=x',
    'include_run_config=yes',
    'search_surface=x',
    'arena=x',
    'max_results=0',
    'max_results=',
    'max_results=1.5',
  ])
    assertError(await naru.send('GET', `/benchmarks?${query}`, { key: account.key }), 400, 'invalid_request');
});

// spec:conformance/90
test('samples of both are marked as samples', async () => {
  const ranking = (await sampled.send('GET', '/datasets/rankings-daily', { key: guest.key })).json;
  assert.equal(ranking.data.length, 31 * 7);
  assert.ok(
    ranking.data.every(
      (row: Row) => row['source'] === 'fixture' && /^(sample\/|other$)/.test(row['model_permaslug']),
    ),
  );
  assert.equal(ranking.data[6].model_permaslug, 'other');
  assert.equal(ranking.meta.citation, null);
  const benchmarks = (await sampled.send('GET', '/benchmarks', { key: guest.key })).json;
  assert.ok(benchmarks.data.length > 0);
  assert.ok(benchmarks.data.every((row: Row) => row['fixture'] === true && /샘플/.test(row['display_name'])));
  assert.deepEqual(benchmarks.meta.citations, []);
});
