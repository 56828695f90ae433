/**
 * The app ranking is read page by page from a source that fails in every way, and is never
 * published partially.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAppPeriod } from '../../src/datasets/app-rankings.ts';
import { reply } from '../harness/upstream.ts';
import {
  appRow,
  manyApps,
  page,
  type Row,
  type ScriptedSource,
  sourceKey,
  syncForEach,
  type TestSync,
} from './scripted-source.ts';

let source: ScriptedSource;
let at: TestSync;
const meta = {
  as_of: '2026-11-19T01:00:00Z',
  version: 'v1',
  start_date: '2026-10-19',
  end_date: '2026-11-18',
};

syncForEach((one, sync) => {
  [source, at] = [one, sync];
});

async function ranks(): Promise<readonly number[]> {
  return ((await readAppPeriod(at.database, null))?.rows ?? []).map((row) => row.rank);
}

// spec:conformance/93,106
test('all pages together are one period: every rank once, none missing', async () => {
  source.apps = manyApps(200);
  const outcome = await at.sync('app-rankings');
  assert.deepEqual(outcome, { dataset: 'app-rankings', kind: 'synced', rows: 200, through: '2026-11-18' });
  assert.deepEqual(
    await ranks(),
    Array.from({ length: 200 }, (_, index) => index + 1),
  );
  const [first, second] = source.sent();
  assert.equal(first, '/datasets/app-rankings?sort=popular&limit=100&offset=0');
  // The second page is requested for the first one's period, whatever the date is by then.
  assert.equal(
    second,
    '/datasets/app-rankings?sort=popular&limit=100&offset=100&start_date=2026-10-19&end_date=2026-11-18',
  );
  assert.equal(source.upstream.requests[0]?.header('authorization'), `Bearer ${sourceKey}`);
});

test('after a short page the sync continues behind its last row', async () => {
  source.apps = manyApps(150);
  source.maxPage = 40;
  await at.sync('app-rankings');
  assert.equal((await ranks()).length, 120);
});

// spec:conformance/82
test('tokens keep all of their digits, as a string and as a number', async () => {
  const largest = '9'.repeat(30);
  const number = 123_456_789_012_345_678_901_234_567_890n;
  source.apps = [
    appRow(1, { total_tokens: largest }),
    appRow(2, { total_tokens: number }),
    appRow(3, { total_tokens: 7 }),
    appRow(4, { total_tokens: null }),
  ];
  await at.sync('app-rankings');
  const period = await readAppPeriod(at.database, null);
  assert.deepEqual(
    period?.rows.map((row) => row.total_tokens),
    [largest, String(number), '7', null],
  );
});

// spec:conformance/83,84,85
test('values of the source are stored unchanged, and missing ones are null', async () => {
  source.apps = [
    appRow(1, {
      categories: ['coding', 'cli-agent', 'third'],
      origin_url: 'https://origin.example',
      main_url: 'https://main.example',
      growth_pct: 12.5,
      description: '설명\u0000',
    }),
    appRow(2, {
      categories: ['creative'],
      origin_url: null,
      main_url: 'https://main.example',
      growth_pct: 0,
    }),
    appRow(3, { categories: [], growth_pct: null }),
    appRow(4),
  ];
  await at.sync('app-rankings');
  const rows = (await readAppPeriod(at.database, null))?.rows ?? [];
  assert.deepEqual(
    rows.map(({ category, subcategory, url, growth_pct, description }) => [
      category,
      subcategory,
      url,
      growth_pct,
      description,
    ]),
    [
      ['coding', 'cli-agent', 'https://origin.example', 12.5, '설명'],
      ['creative', null, 'https://main.example', 0, null],
      [null, null, null, null, null],
      [null, null, null, null, null],
    ],
  );
});

test('older periods are kept, and a period that is synced again is replaced', async () => {
  await at.sync('app-rankings');
  source.period = { start: '2026-10-20', end: '2026-11-19' };
  source.apps = manyApps(5);
  await at.sync('app-rankings');
  source.apps = manyApps(2);
  await at.sync('app-rankings');
  assert.deepEqual(await ranks(), [1, 2]);
  const older = await readAppPeriod(at.database, Date.parse('2026-11-18') / 86_400_000);
  assert.equal(older?.rows.length, 3);
});

/** What one response can be like, and what is reported when every further one is the same. */
const faults: Readonly<
  Record<
    string,
    {
      readonly reply: ReturnType<typeof page>;
      readonly message: RegExp;
      readonly wholeMs?: number;
    }
  >
> = {
  'a 401': {
    reply: reply.leak(401),
    message: /responded with 401: it rejects the sync key/,
  },
  'a redirect': {
    reply: reply.redirect('https://elsewhere.example/'),
    message: /responded with 302/,
  },
  'a 429': { reply: reply.tooMany('0'), message: /responded with 429/ },
  'a 500': { reply: reply.status(500), message: /responded with 500/ },
  'a connection that is dropped': { reply: reply.drop('rst'), message: /app-rankings: / },
  silence: { reply: reply.hang(), message: /no complete response within 400 ms/, wholeMs: 400 },
  'a body that is cut off': { reply: page(manyApps(3), meta).cutAt(200), message: /app-rankings: / },
  'a body that stands still': {
    reply: page(manyApps(3), meta).cutAt(200, 'never'),
    message: /no complete response within 400 ms/,
    wholeMs: 400,
  },
  'malformed JSON': { reply: reply.status(200, '{"data": [}'), message: /not JSON/ },
  'bytes that are not UTF-8': {
    reply: reply.raw(Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n\xff\xfe', 'latin1')),
    message: /not UTF-8/,
  },
  'a list instead of an object': { reply: reply.json([]), message: /invalid at its root/ },
  'no meta': { reply: reply.json({ data: manyApps(1) }), message: /invalid at meta/ },
  'a day that is none': {
    reply: page(manyApps(1), { ...meta, end_date: '2026-02-30' }),
    message: /invalid at meta\.end_date/,
  },
  'a period that ends before it starts': {
    reply: page(manyApps(1), { ...meta, start_date: '2026-12-01' }),
    message: /ends before it starts/,
  },
};
const wrongRows: Readonly<Record<string, readonly Row[]>> = {
  'a rank in words': [appRow(1, { rank: 'first' })],
  'an app without an id': [appRow(1, { app_id: null })],
  'tokens with 31 digits': [appRow(1, { total_tokens: '1'.repeat(31) })],
  'a number of 31 digits': [appRow(1, { total_tokens: 10n ** 30n })],
  'negative tokens': [appRow(1, { total_tokens: '-5' })],
  'fractional tokens': [appRow(1, { total_tokens: 1.5 })],
  'requests beyond a number': [appRow(1, { total_requests: 2n ** 60n })],
  'categories that are text': [appRow(1, { categories: 'coding' })],
  'a name that is missing': [appRow(1, { app_name: undefined })],
  'more rows than were requested': manyApps(101),
  'a rank twice': [appRow(1), appRow(1, { app_id: 5 })],
  'a rank missing': [appRow(1), appRow(3)],
  'an app twice': [appRow(1), appRow(2, { app_id: 1001 })],
  'more tokens on a lower rank': [appRow(1), appRow(2, { total_tokens: '10000000' })],
};

for (const [name, { reply: fault, message, wholeMs }] of Object.entries(faults)) {
  test(`${name} changes no published row and is logged`, async () => {
    await at.sync('app-rankings');
    const before = source.sent().length;
    source.upstream.always(fault);
    at.limits.wholeMs = wholeMs ?? at.limits.wholeMs;
    const outcome = await at.sync('app-rankings');
    assert.equal(outcome.kind, 'failed');
    assert.match(outcome.kind === 'failed' ? outcome.reason : '', message);
    assert.equal(source.sent().length, before + 1);
    assert.deepEqual(await ranks(), [1, 2, 3]);
    const line = at.logged.find((each) => each['event'] === 'dataset_sync_failed');
    assert.match(String(line?.['reason']), message);
    assert.doesNotMatch(JSON.stringify(at.logged), new RegExp(sourceKey));
  });
}

test('invalid rows change no published row', async () => {
  await at.sync('app-rankings');
  for (const [name, rows] of Object.entries(wrongRows)) {
    source.apps = [...rows];
    if (rows.length > 100) source.upstream.always(page(rows, meta));
    assert.equal((await at.sync('app-rankings')).kind, 'failed', name);
    assert.deepEqual(await ranks(), [1, 2, 3], name);
    source.upstream.respond(() => page(source.apps, meta));
  }
});

test('data that changes between two pages is not published, and the next sync reads it again', async () => {
  const first = page(manyApps(100), meta);
  // An app fell from rank 100 to 101 in between: it would be there twice.
  const shifted = page([appRow(101, { app_id: 1100 }), ...manyApps(103).slice(101)], meta);
  source.apps = manyApps(103);
  source.upstream.next(first, shifted);
  const outcome = await at.sync('app-rankings');
  assert.match(outcome.kind === 'failed' ? outcome.reason : '', /ranks are doubled or missing|two ranks/);
  assert.deepEqual(await ranks(), []);
  await at.sync('app-rankings');
  assert.equal((await ranks()).length, 103);
});

test('a period that ends between two pages does not mix two periods', async () => {
  source.apps = manyApps(103);
  source.upstream.next(
    page(manyApps(100), meta),
    page(manyApps(103).slice(100), { ...meta, end_date: '2026-11-19' }),
  );
  assert.equal((await at.sync('app-rankings')).kind, 'failed');
  await at.sync('app-rankings');
  const period = await readAppPeriod(at.database, null);
  assert.equal(period?.endDay, Date.parse('2026-11-18') / 86_400_000);
  assert.equal(period?.rows.length, 103);
});

test('an interrupted sync publishes nothing; the next one reads the whole period', async () => {
  source.apps = manyApps(160);
  source.upstream.next(page(manyApps(100), meta), reply.status(503));
  assert.equal((await at.sync('app-rankings')).kind, 'failed');
  assert.deepEqual(await ranks(), []);
  assert.equal((await at.sync('app-rankings')).kind, 'synced');
  assert.equal((await ranks()).length, 160);
});
