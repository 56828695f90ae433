/**
 * OpenRouter's official client reads every dataset (spec:compat/1.1), samples and the source's rows
 * alike.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { OpenRouter } from '@openrouter/sdk';
import { DatasetSync } from '../../src/datasets/sync.ts';
import { silentLog } from '../../src/log/log.ts';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { hurried, type ScriptedSource, startSource } from './scripted-source.ts';

let naru: TestGateway;
let source: ScriptedSource;
let client: OpenRouter;

before(async () => {
  source = await startSource();
  naru = await startTestGateway({ config: { datasets: { samples: true } } });
  naru.clock.set('2026-11-19T12:00:00+09:00');
  const { key } = await naru.account();
  client = new OpenRouter({ apiKey: key, serverURL: naru.url });
});
after(async () => {
  await naru?.close();
  await source?.upstream.close();
});

/** How many rows the client parses of each dataset. */
async function counts(): Promise<readonly number[]> {
  const apps = await client.datasets.getAppRankings({ limit: 100 });
  const models = await client.datasets.getRankingsDaily({ period: 'week' });
  const benchmarks = await client.benchmarks.getBenchmarks({});
  return [apps.result.data.length, models.data.length, benchmarks.data.length];
}

test('samples parse', async () => {
  const [apps = 0, models = 0, benchmarks = 0] = await counts();
  assert.equal(apps, 100);
  assert.ok(models > 0 && benchmarks > 0);
});

test('rows of the source parse', async () => {
  const { settings } = source;
  const sync = new DatasetSync({
    settings,
    database: naru.database,
    clock: naru.clock,
    log: silentLog,
    pace: hurried,
  });
  await sync.syncNow(['app-rankings', 'rankings-daily', 'benchmarks']);
  await sync.close();
  assert.deepEqual(await counts(), [3, 2, 1]);
});
