import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addReload } from '../../src/app/gateway-metrics.ts';
import type { Catalogue } from '../../src/catalogue/catalogue.ts';
import { defaultConfig } from '../../src/config/load.ts';
import { BoundedLabels } from '../../src/metrics/bounded-labels.ts';
import { measureProcess } from '../../src/metrics/process-metrics.ts';
import {
  addCounter,
  addGauge,
  Histogram,
  labelled,
  Registry,
  readRegistry,
  renderPage,
} from '../../src/metrics/registry.ts';
import { maxSources, maxSourcesByStatus, RequestMetrics } from '../../src/metrics/request-metrics.ts';
import { maxCandidates, UpstreamMetrics } from '../../src/routing/metrics.ts';
import { Health } from '../../src/upstreams/health.ts';
import { type Page, parseExposition } from '../harness/exposition.ts';
import { TestClock } from '../harness/test-clock.ts';
import { until } from '../harness/until.ts';

/* The metrics page by itself: its text format, its deprecated names, and the bound on its series (spec:operator/3.3). */

async function pageOf(...registries: readonly Registry[]): Promise<Page> {
  const lists = await Promise.all(registries.map(readRegistry));
  return parseExposition(await renderPage(lists));
}

test('the lag of the event loop does not contain the interval of its samples', async () => {
  const read = measureProcess();
  await until('a sample that is shorter than the interval', async () => {
    // A reading starts over, and has the largest number until there is a sample.
    const beganMs = performance.now();
    while (performance.now() - beganMs < 1_200) await new Promise((resolve) => setTimeout(resolve, 20));
    const metric = (await read()).find(({ name }) => name === 'nodejs_eventloop_lag_min_seconds');
    return (metric?.values[0]?.value ?? 1) < 0.4;
  });
});

test('a scraper reads back whatever a label or a help contains', async () => {
  const registry = new Registry();
  const odd = 'a "b"\\ \n나루,}{=';
  addGauge(registry, { name: 'odd', help: 'Back\\slash and\nanother line.', labelNames: ['x', 'y'] }, () => [
    { labels: { x: odd, y: '' }, value: 1 },
  ]);
  addGauge(registry, { name: 'far', help: 'Far.', labelNames: ['n'] }, () =>
    [Number.NaN, Infinity, 1e300, -0.5].map((value, n) => ({ labels: { n: `${n}` }, value })),
  );
  addCounter(registry, { name: 'none_total', help: 'None.', labelNames: ['n'] }, () => []);
  const page = await pageOf(registry);
  assert.equal(page.value('odd', { x: odd, y: '' }), 1);
  assert.deepEqual(
    page.series.slice(1).map((one) => one.value),
    [1e300, -0.5],
    'a series without a number is left out',
  );
  assert.equal(page.types.get('none_total'), 'counter');
});

test('a metric of several lists appears once, with the series of all, and survives JSON on the way', async () => {
  const lists = await Promise.all(
    [1, 2].map(async (worker) => {
      const registry = new Registry();
      const seconds = new Histogram({ name: 'h', help: 'H.', buckets: [0.1, 1], registers: [registry] });
      for (let n = 0; n < worker; n += 1) seconds.observe(0.5);
      const sent = JSON.parse(JSON.stringify(await readRegistry(registry)));
      return labelled(sent, 'worker', `${worker}`);
    }),
  );
  const { value, types } = parseExposition(await renderPage(lists));
  assert.deepEqual([...types], [['h', 'histogram']]);
  for (const worker of ['1', '2']) {
    assert.equal(value('h_bucket', { worker, le: '0.1' }), 0);
    assert.equal(value('h_bucket', { worker, le: '1' }), Number(worker));
    assert.equal(value('h_count', { worker }), Number(worker));
    assert.equal(value('h_sum', { worker }), Number(worker) / 2);
  }
});

test('label sets beyond the maximum share one, and a set keeps what it was given', () => {
  const labels = new BoundedLabels(['model', 'provider'], 2);
  assert.deepEqual(labels.of('a', 'x'), { model: 'a', provider: 'x' });
  assert.deepEqual(labels.of('b', 'x'), { model: 'b', provider: 'x' });
  assert.deepEqual(labels.of('c', 'x'), { model: 'other', provider: 'other' });
  assert.deepEqual(labels.of('a', 'x'), { model: 'a', provider: 'x' });
  assert.deepEqual(
    labels.keepOnly(({ model }) => model !== 'a'),
    [{ model: 'a', provider: 'x' }],
  );
  assert.deepEqual(labels.of('c', 'x'), { model: 'c', provider: 'x' });
  assert.deepEqual(labels.of('a', 'x'), { model: 'other', provider: 'other' });
});

test('10,000 models with traffic do not exceed the maximum of series, and nothing that they did is lost', async () => {
  const models = 10_000;
  const registry = new Registry();
  const metrics = new RequestMetrics(registry);
  for (let n = 0; n < models; n += 1) {
    const source = { modelId: `m/${n}`, providerTag: `p${n % 7}` };
    metrics.firstToken(source, 100);
    for (const status of [200, 502])
      metrics.generationEnded({
        source,
        status,
        errorType: null,
        wasStreaming: false,
        durationMs: 1_000,
        promptTokens: 10,
        completionTokens: 5,
        cost: 20_000_000n,
        hasUnknownFinish: true,
      });
    metrics.requestEnded(`/${n}`, 200, 5);
  }
  const lines = (await renderPage([await readRegistry(registry)])).split('\n').length;
  assert.ok(lines < 20_000, `${lines} lines`);
  const { series, value } = await pageOf(registry);
  const countsOf = (name: string) => series.filter((one) => one.name === `${name}_count`);
  const sumOf = (name: string): number => countsOf(name).reduce((sum, one) => sum + one.value, 0);
  for (const [name, max, expected] of [
    ['naru_time_to_first_token_seconds', maxSources, models],
    ['naru_prompt_tokens', maxSources, 2 * models],
    ['naru_completion_tokens', maxSources, 2 * models],
    ['naru_cost_won', maxSources, 2 * models],
    ['naru_generation_duration_seconds', maxSourcesByStatus, 2 * models],
  ] as const) {
    assert.equal(countsOf(name).length, max + 1, name);
    assert.equal(sumOf(name), expected, name);
  }
  assert.equal(
    value('naru_cost_won_sum', { model: 'other', provider: 'other' }),
    20 * 2 * (models - maxSources),
  );
  const unknown = series.filter(({ name }) => name === 'naru_unknown_finish_reasons_total');
  assert.equal(unknown.length, maxSources + 1);
  // After a reload with one model the page is that model's, and what was counted together.
  metrics.keepOnly(new Set(['m/0']));
  const after = await pageOf(registry);
  const left = after.series.filter((one) => one.name === 'naru_cost_won_count');
  assert.deepEqual(left.map((one) => one.labels['model']).toSorted(), ['m/0', 'other']);
});

test('of 10,000 candidates the page shows those that are used or drained, up to the maximum', async () => {
  const clock = new TestClock();
  const health = new Health(clock, defaultConfig().routing);
  const candidates = Array.from({ length: 10_000 }, (_, n) => ({ label: `p/${n}` }));
  const catalogue = { models: [{ candidates }] } as unknown as Catalogue;
  const registry = new Registry();
  const drains = { isDrained: ({ label }: { readonly label: string }) => label === 'p/7' };
  new UpstreamMetrics(registry, { catalogue: () => catalogue, health, drains });
  const shown = async () =>
    (await pageOf(registry)).series.filter(({ name }) => name === 'naru_upstream_circuit');
  const names = async () => (await shown()).map(({ labels }) => labels['candidate']);
  assert.deepEqual(await names(), ['p/7']);
  for (const n of [5_000, 9_999]) {
    health.ended(`p/${n}`, { broken: false, tokens: 5, tookMs: 100 });
    health.resent(`p/${n}`);
  }
  health.resent('p/1');
  assert.deepEqual(await names(), ['p/7', 'p/5000', 'p/9999']);
  const { value } = await pageOf(registry);
  assert.equal(value('naru_upstream_drained', { candidate: 'p/7' }), 1);
  assert.equal(value('naru_upstream_drained', { candidate: 'p/9999' }), 0);
  assert.equal(value('naru_upstream_resends_total', { candidate: 'p/9999' }), 1);
  assert.equal(value('naru_upstream_resends_total', { candidate: 'other' }), 1);
  for (const { label } of candidates.slice(0, 2 * maxCandidates))
    health.ended(label, { broken: false, tokens: 5, tookMs: 100 });
  const kept = await names();
  assert.equal(kept.length, maxCandidates);
  assert.ok(kept.includes('p/9999'), 'a candidate keeps its series');
});

test('the page has the last reload of the configuration, and whether it changed it', async () => {
  let last: { readonly atMs: number; readonly error: string | null } | null = null;
  const registry = new Registry();
  addReload(registry, () => last, 4_000);
  for (const [atMs, error] of [
    [4_000, null],
    [5_000, 'naru.yaml:1:1 is wrong'],
    [6_000, null],
  ] as const) {
    if (atMs > 4_000) last = { atMs, error };
    const { value } = await pageOf(registry);
    assert.equal(value('naru_configuration_last_reload_timestamp_seconds'), atMs / 1000);
    assert.equal(value('naru_configuration_last_reload_successful'), error === null ? 1 : 0);
  }
});
