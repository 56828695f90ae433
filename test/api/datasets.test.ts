/** `GET /datasets/app-rankings` (spec:api/18), with data of a source, with samples, and empty. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { DatasetSync } from '../../src/datasets/sync.ts';
import { silentLog } from '../../src/log/log.ts';
import {
  appRow,
  hurried,
  manyApps,
  type Row,
  type ScriptedSource,
  startSource,
} from '../datasets/scripted-source.ts';
import {
  startTestGateway,
  type TestAccount,
  type TestGateway,
  type TestResponse,
} from '../harness/gateway.ts';
import { assertError } from '../harness/response-rules.ts';
import { reply, startUpstream } from '../harness/upstream.ts';

const path = '/datasets/app-rankings';
const fields = [
  'app_id',
  'app_name',
  'rank',
  'total_requests',
  'total_tokens',
  'url',
  'description',
  'category',
  'subcategory',
  'growth_pct',
  'period_start',
  'period_end',
  'source',
  'synced_at',
];
const huge = '123456789012345678901234567890';

let naru: TestGateway;
let account: TestAccount;

async function get(query = '', key = account.key): Promise<TestResponse> {
  return naru.send('GET', `${path}${query}`, { key });
}

async function rows(query = ''): Promise<Row[]> {
  const response = await get(query);
  assert.equal(response.status, 200, response.text);
  return response.json.data;
}

// spec:conformance/80,81,82,86,87,88
function assertEntry(row: Row, source: 'upstream' | 'fixture'): void {
  assert.deepEqual(Object.keys(row).sort(), [...fields].sort());
  assert.equal(typeof row['app_id'], 'number');
  assert.equal(typeof row['app_name'], 'string');
  assert.ok(Number.isInteger(row['rank']) && row['rank'] >= 1);
  assert.ok(row['total_requests'] === null || Number.isSafeInteger(row['total_requests']));
  assert.ok(row['total_tokens'] === null || /^\d{1,30}$/.test(row['total_tokens']));
  for (const name of ['url', 'description', 'category', 'subcategory'])
    assert.ok(row[name] === null || typeof row[name] === 'string', name);
  assert.ok(row['growth_pct'] === null || typeof row['growth_pct'] === 'number');
  for (const name of ['period_start', 'period_end']) assert.match(row[name], /^\d{4}-\d{2}-\d{2}$/);
  assert.equal(row['source'], source);
  assert.match(row['synced_at'], /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);
}

describe('with data of the source', () => {
  let source: ScriptedSource;
  before(async () => {
    source = await startSource();
    naru = await startTestGateway({ config: { datasets: { samples: true } } });
    naru.clock.set('2026-11-19T12:00:00+09:00');
    account = await naru.account();
    const sync = new DatasetSync({
      settings: source.settings,
      database: naru.database,
      clock: naru.clock,
      log: silentLog,
      pace: hurried,
    });
    source.period = { start: '2026-09-01', end: '2026-09-30' };
    source.apps = manyApps(4);
    await sync.syncNow(['app-rankings']);
    source.period = { start: '2026-10-01', end: '2026-10-31' };
    source.apps = [
      appRow(1, {
        total_tokens: huge,
        categories: ['coding', 'cli-agent'],
        origin_url: 'https://origin.example',
        main_url: 'https://main.example',
        growth_pct: -3.5,
      }),
      appRow(2, { categories: ['coding'], main_url: 'https://main.example', growth_pct: 0 }),
      appRow(3, { categories: ['Coding', 'cli-agent'] }),
      ...manyApps(130).slice(3),
    ];
    const [outcome] = (await sync.syncNow(['app-rankings'])) as readonly { kind: string }[];
    assert.equal(outcome?.kind, 'synced');
    await sync.close();
  });
  after(async () => {
    await naru?.close();
    await source?.upstream.close();
  });

  // spec:conformance/79,80,81,86,87,88,89,93,97,100
  test('without a parameter the latest period is returned with fifty rows and its dates', async () => {
    const { data, meta } = (await get()).json;
    assert.equal(data.length, 50);
    for (const row of data) assertEntry(row, 'upstream');
    assert.deepEqual([...new Set(data.map((row: Row) => row['period_end']))], ['2026-10-31']);
    assert.equal(data[0].rank, 1);
    assert.deepEqual(meta, {
      as_of: '2026-11-19T01:00:00.000Z',
      start_date: '2026-10-01',
      end_date: '2026-10-31',
      limit: 50,
      offset: 0,
      version: 'v1',
      citation: 'Source: OpenRouter (openrouter.ai/apps), as of 2026-11-19T01:00:00.000Z.',
      license: 'CC BY 4.0',
      license_url: 'https://creativecommons.org/licenses/by/4.0/',
    });
  });

  // spec:conformance/82,83,84,85
  test('a row has the values of the source: all digits, and null where the source has none', async () => {
    const [one, two, , four] = await rows();
    assert.equal(one?.['total_tokens'], huge);
    assert.deepEqual(
      [one?.['category'], one?.['subcategory'], one?.['url'], one?.['growth_pct']],
      ['coding', 'cli-agent', 'https://origin.example', -3.5],
    );
    assert.deepEqual(
      [two?.['category'], two?.['subcategory'], two?.['url'], two?.['growth_pct']],
      ['coding', null, 'https://main.example', 0],
    );
    assert.deepEqual(
      [four?.['category'], four?.['subcategory'], four?.['url'], four?.['growth_pct']],
      [null, null, null, null],
    );
  });

  // spec:conformance/94,95
  test('`end_date` selects the latest period that ends on or before it', async () => {
    for (const [day, end] of [
      ['2026-10-31', '2026-10-31'],
      ['2026-10-30', '2026-09-30'],
      ['2026-10-15', '2026-09-30'],
      ['2026-09-30', '2026-09-30'],
      ['9999-12-31', '2026-10-31'],
    ] as const) {
      const { data, meta } = (await get(`?end_date=${day}`)).json;
      assert.equal(meta.end_date, end, day);
      assert.ok(data.every((row: Row) => row['period_end'] === end));
    }
    assert.equal((await rows('?end_date=2026-09-30')).length, 4);
  });

  // spec:conformance/92,93,95
  test('before the first period the list is empty, without samples', async () => {
    for (const day of ['2026-09-29', '0001-01-01', '0000-01-01']) {
      const { data, meta } = (await get(`?end_date=${day}`)).json;
      assert.deepEqual(data, []);
      assert.deepEqual([meta.as_of, meta.start_date, meta.end_date, meta.citation], [null, null, null, null]);
    }
  });

  // spec:conformance/98,101,103,106
  test('pages are parts of one ranking: ranks are absolute, none is duplicated or missing', async () => {
    assert.equal((await rows('?limit=1')).length, 1);
    assert.equal((await rows('?limit=100')).length, 100);
    assert.equal((await rows('?offset=50'))[0]?.['rank'], 51);
    const pages = await Promise.all([0, 50, 100].map((offset) => rows(`?offset=${offset}`)));
    assert.deepEqual(
      pages.flat().map((row) => row['rank']),
      Array.from({ length: 130 }, (_, index) => index + 1),
    );
    for (const offset of ['130', '100000', '999999999999999'])
      assert.deepEqual(await rows(`?offset=${offset}`), []);
    assert.equal((await get('?offset=130')).json.meta.offset, 130);
  });

  // spec:conformance/104,105
  test('`category` and `subcategory` match exactly, and both apply', async () => {
    const ranks = async (query: string): Promise<unknown[]> => (await rows(query)).map((row) => row['rank']);
    assert.deepEqual(await ranks('?category=coding'), [1, 2]);
    assert.deepEqual(await ranks('?category=Coding'), [3]);
    assert.deepEqual(await ranks('?subcategory=cli-agent'), [1, 3]);
    assert.deepEqual(await ranks('?category=coding&subcategory=cli-agent'), [1]);
    for (const unknown of ['none', '', '%00', 'coding%20', "'%3B--", '%ED%95%9C'])
      assert.deepEqual(await ranks(`?category=${unknown}`), [], unknown);
  });

  // spec:conformance/96,99,102
  test('an invalid value is rejected', async () => {
    const wrong = [
      ...[
        '2026-1-1',
        '20260101',
        '01-01-2026',
        'abc',
        '',
        '2026-02-30',
        '2026-10-31T00:00:00Z',
        '%202026-10-31',
      ].map((value) => `end_date=${value}`),
      ...['0', '101', '-1', '1.5', 'abc', '', '1e1', '%2050', '1e400'].map((value) => `limit=${value}`),
      ...['-1', '1.5', 'x', '', '1e2'].map((value) => `offset=${value}`),
    ];
    for (const query of wrong) assertError(await get(`?${query}`), 400, 'invalid_request');
  });

  // spec:compat/2.16
  test('OpenRouter parameters that have no effect here, and unknown ones, are ignored', async () => {
    assert.deepEqual(
      await rows('?sort=trending&start_date=nonsense&colour=blue&limit=3'),
      await rows('?limit=3'),
    );
  });

  // spec:conformance/107
  test('traffic does not change the ranking', async () => {
    const upstream = await startUpstream();
    const other = await startTestGateway({
      models: [{ id: 'test/echo', upstreams: [upstream.url] }],
      beside: naru,
      publishes: true,
    });
    const ranking = (await get()).text;
    upstream.next(reply.chat('hi'));
    const response = await other.send('POST', '/chat/completions', {
      key: account.key,
      body: { model: 'test/echo', messages: [{ role: 'user', content: 'hi' }] },
      headers: { 'http-referer': 'https://my.app', 'x-service-title': 'My App' },
    });
    assert.equal(response.status, 200);
    const record = await other.send(
      'GET',
      `/generation?id=${response.headers.get('x-service-generation-id')}`,
      { key: account.key },
    );
    assert.equal(record.json.data.http_referer, 'https://my.app');
    assert.equal((await get()).text, ranking);
    await other.close();
    await upstream.close();
  });
});

describe('with samples', () => {
  before(async () => {
    naru = await startTestGateway({ config: { datasets: { samples: true } } });
    naru.clock.set('2026-11-19T12:00:00+09:00');
    account = await naru.account();
  });
  after(() => naru?.close());

  // spec:conformance/80,82,83,89,90,106
  test('sample rows are marked as samples and name no real app', async () => {
    const { data, meta } = (await get('?limit=100')).json;
    assert.equal(data.length, 100);
    for (const row of data) {
      assertEntry(row, 'fixture');
      assert.match(row.app_name, /샘플/);
    }
    assert.ok(data.some((row: Row) => row['growth_pct'] === null));
    assert.deepEqual(
      [meta.start_date, meta.end_date, meta.version, meta.citation],
      ['2026-10-01', '2026-10-31', 'v1', null],
    );
    const more = await rows('?limit=100&offset=100');
    assert.deepEqual(
      [...data, ...more].map((row) => row['rank']),
      Array.from({ length: 120 }, (_, index) => index + 1),
    );
    assert.deepEqual((await get('?limit=100')).json.data, data);
  });

  // spec:conformance/94,95,104
  test('the parameters apply to samples as to real rows', async () => {
    assert.equal((await get('?end_date=2026-10-30')).json.meta.end_date, '2026-09-30');
    assert.equal((await get('?end_date=2026-01-01')).json.meta.end_date, null);
    assert.ok((await rows('?category=coding')).every((row) => row['category'] === 'coding'));
  });
});

describe('without samples', () => {
  before(async () => {
    naru = await startTestGateway({ config: { datasets: { samples: false } } });
    account = await naru.account();
  });
  after(() => naru?.close());

  // spec:conformance/91,92
  test('the list is empty, without an error', async () => {
    const response = await get();
    assert.equal(response.status, 200);
    assert.deepEqual(response.json, {
      data: [],
      meta: {
        as_of: null,
        start_date: null,
        end_date: null,
        limit: 50,
        offset: 0,
        version: 'v1',
        citation: null,
        license: null,
        license_url: null,
      },
    });
  });

  // spec:conformance/37
  test('every dataset accepts either kind of key and requires one', async () => {
    const management = (await account.another({ kind: 'management' })).key;
    for (const each of [path, '/datasets/rankings-daily', '/benchmarks']) {
      assertError(await naru.send('GET', each), 401, 'invalid_api_key');
      for (const key of [account.key, management]) {
        const response = await naru.send('GET', each, { key });
        assert.equal(response.status, 200);
        assert.deepEqual([response.json.data, response.json.meta.version], [[], 'v1']);
        // The app ranking alone has no dates (spec:api/18.18); the others keep what OpenRouter's
        // client requires.
        assert.equal(response.json.meta.as_of === null, each === path);
      }
    }
  });

  // spec:api/3.5
  test('a key without credit is rejected with the balance', async () => {
    const poor = await naru.account({ credit: '0' });
    const metadata = assertError(await get('', poor.key), 402, 'insufficient_credits');
    assert.equal(metadata['balance_krw'], '0.000000');
  });
});

test('with a sync key and nothing synced yet the list is empty: samples are only for servers without a sync key', async () => {
  const source = await startSource();
  naru = await startTestGateway({
    config: {
      datasets: { sync_key: 'some-key-of-the-source', base_url: source.upstream.url, samples: true },
    },
  });
  account = await naru.account();
  assert.deepEqual(await rows(), []);
  await naru.close();
  await source.upstream.close();
});
