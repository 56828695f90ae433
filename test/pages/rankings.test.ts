/** The rankings as the pages read them, without a session, beside the datasets of the API. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { DatasetSync } from '../../src/datasets/sync.ts';
import { silentLog } from '../../src/log/log.ts';
import { rankedByModel } from '../../src/pages/dashboard/ranked-by-model.ts';
import {
  appRow,
  hurried,
  manyApps,
  modelRow,
  type Row,
  type ScriptedSource,
  startSource,
} from '../datasets/scripted-source.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { PageBrowser } from '../harness/pages.ts';

const huge = '123456789012345678901234567890';
let source: ScriptedSource;
let naru: TestGateway;
let account: TestAccount;
let visitor: PageBrowser;

before(async () => {
  source = await startSource();
  naru = await startTestGateway({ config: { datasets: { samples: true } } });
  naru.clock.set('2026-11-19T12:00:00+09:00');
  account = await naru.account();
  visitor = new PageBrowser(naru.origin, 'dashboard', null);
  const { database, clock } = naru;
  const sync = new DatasetSync({ settings: source.settings, database, clock, log: silentLog, pace: hurried });
  source.period = { start: '2026-09-01', end: '2026-09-30' };
  source.apps = manyApps(4);
  await sync.syncNow(['app-rankings']);
  source.period = { start: '2026-10-01', end: '2026-10-31' };
  source.apps = [
    appRow(1, { total_tokens: huge, categories: ['coding', 'cli-agent'] }),
    appRow(2, { categories: ['coding'] }),
    ...manyApps(130).slice(2),
  ];
  source.models = [
    ...Array.from({ length: 25 }, (_, index) =>
      modelRow('2026-11-17', `a/model-${index}`, `${1_000 - index}`),
    ),
    modelRow('2026-11-17', 'other', '7'),
    modelRow('2026-11-18', 'a/model-0', huge),
  ];
  await sync.syncNow(['app-rankings', 'rankings-daily']);
  await sync.close();
});
after(async () => {
  await naru?.close();
  await source?.upstream.close();
});

async function dataset(path: string) {
  return (await naru.send('GET', `/datasets${path}`, { key: account.key })).json;
}

// pages:U10
// security:32
test('the apps are those of the dataset, with the licence, the periods and the categories', async () => {
  const shown = await visitor.get('/rankings/apps');
  const { data, meta } = await dataset('/app-rankings?limit=100');
  assert.deepEqual(shown.data, data);
  assert.deepEqual(shown.meta, meta);
  assert.equal(shown.data[0].total_tokens, huge);
  assert.match(shown.meta.citation, /OpenRouter/);
  assert.deepEqual(shown.periods, [
    { start: '2026-10-01', end: '2026-10-31' },
    { start: '2026-09-01', end: '2026-09-30' },
  ]);
  assert.ok(
    shown.categories.some(
      (one: { name: string; subcategories: string[] }) =>
        one.name === 'coding' && one.subcategories.includes('cli-agent'),
    ),
  );
  for (const query of [
    'category=coding',
    'category=coding&subcategory=cli-agent',
    'category=none',
    "category='",
  ]) {
    const own = await visitor.get(`/rankings/apps?${query}`);
    assert.deepEqual(own.data, (await dataset(`/app-rankings?limit=100&${query}`)).data, query);
  }
  const earlier = await visitor.get('/rankings/apps?end=2026-10-30');
  assert.deepEqual([earlier.meta.end_date, earlier.data.length], ['2026-09-30', 4]);
  assert.deepEqual((await visitor.get('/rankings/apps?end=2020-01-01')).data, []);
  assert.equal((await visitor.send('GET', '/rankings/apps?end=yesterday')).status, 400);
});

// pages:U10
test('the models are those of the dataset to the last digit; further ones are in the rest', async () => {
  const shown = await visitor.get('/rankings/models');
  assert.equal(shown.is_sample, false);
  assert.deepEqual(shown.dates, ['2026-11-17', '2026-11-18']);
  assert.equal(shown.models.length, 20);
  assert.deepEqual(shown.models[0].tokens, ['1000', huge]);
  assert.deepEqual(shown.models[1].tokens, ['999', null]);
  const { data } = await dataset('/rankings-daily');
  const sum = (values: readonly string[]) =>
    String(values.reduce((total, value) => total + BigInt(value), 0n));
  const totals = [...shown.models, shown.other].map((one: { total_tokens: string }) => one.total_tokens);
  assert.equal(sum(totals), sum(data.map((row: Row) => row['total_tokens'])));
  const weeks = await visitor.get('/rankings/models?period=week');
  assert.deepEqual(weeks.dates, ['2026-11-16']);
  assert.deepEqual((await visitor.get('/rankings/models?series=modality:image')).models, []);
  assert.equal((await visitor.send('GET', '/rankings/models?series=modality:smell')).status, 400);
});

// pages:U10
test('samples are marked as samples, without a licence', async () => {
  const sampled = await startTestGateway({ config: { datasets: { samples: true } } });
  const browser = new PageBrowser(sampled.origin, 'dashboard', null);
  const apps = await browser.get('/rankings/apps');
  assert.deepEqual(new Set(apps.data.map((row: Row) => row['source'])), new Set(['fixture']));
  assert.deepEqual([apps.meta.citation, apps.periods.length], [null, 3]);
  assert.equal(
    (await browser.get(`/rankings/apps?end=${apps.periods[2].end}`)).meta.end_date,
    apps.periods[2].end,
  );
  const models = await browser.get('/rankings/models?period=month&range=1y');
  assert.deepEqual([models.is_sample, models.meta.license], [true, null]);
  await sampled.close();
});

test('rows by date become rows by model; a date without a row has no value', () => {
  const rows = [
    { date: '2026-01-02', model_permaslug: 'b', total_tokens: '5' },
    { date: '2026-01-01', model_permaslug: 'a', total_tokens: '5' },
    { date: '2026-01-02', model_permaslug: 'other', total_tokens: '3' },
  ];
  assert.deepEqual(rankedByModel(rows), {
    dates: ['2026-01-01', '2026-01-02'],
    models: [
      { model: 'a', total_tokens: '5', tokens: ['5', null] },
      { model: 'b', total_tokens: '5', tokens: [null, '5'] },
    ],
    other: { total_tokens: '3', tokens: [null, '3'] },
  });
  assert.deepEqual(rankedByModel([]), { dates: [], models: [], other: { total_tokens: '0', tokens: [] } });
});
