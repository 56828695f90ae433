import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { renderPage } from '../../src/app/metrics/page.ts';
import { measureProcess } from '../../src/app/metrics/process-metrics.ts';
import { Registry, readRegistry } from '../../src/app/metrics/registry.ts';
import { addWorkerMetrics } from '../../src/app/workers/worker-reports.ts';
import { parseExposition } from '../harness/exposition.ts';
import { startTestGateway, type TestGateway, testPrice } from '../harness/gateway.ts';
import { until } from '../harness/until.ts';
import { reply, startUpstream, type Upstream } from '../harness/upstream.ts';

/* The table of metrics in docs/operating.md, beside the page of a gateway that has done a little of everything. */

const read = (file: string): string => readFileSync(join(import.meta.dirname, '../..', file), 'utf8');

let upstream: Upstream;
let naru: TestGateway;
before(async () => {
  upstream = await startUpstream();
  naru = await startTestGateway({
    models: [{ id: 'test/echo', upstreams: [upstream.url] }],
    config: {
      // Nothing listens there; no call of the test is sampled.
      tracing: { otlp_url: 'http://127.0.0.1:9/v1/traces', sample_percent: 0 },
      slots: [{ name: 'lane', external: { base_url: upstream.url.replace(/\/v1$/, '') } }],
      models: [
        {
          id: 'test/echo',
          context_length: 1000,
          price: testPrice,
          candidates: [{ provider: 'up1', model: 'echo' }],
        },
      ],
    } as unknown as Record<string, object>,
  });
});
after(async () => {
  await naru?.close();
  await upstream?.close();
});

interface Row {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly help: string;
}

/** Rows of the tables whose first column is a metric: name, type, labels, meaning. */
function documented(): readonly Row[] {
  const rows = read('docs/operating.md').matchAll(
    /^\| `((?:naru|process|nodejs)_\w+)` \| (counter|gauge|histogram) \| (.*?) \| (.*) \|$/gm,
  );
  return [...rows].map(([, name = '', type = '', labels = '', help = '']) => ({
    name,
    type,
    labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label),
    help,
  }));
}

async function pageText(): Promise<string> {
  const registry = new Registry();
  addWorkerMetrics(registry, { serving: 2, restarts: 0 });
  return renderPage([await naru.gateway.metrics(), await readRegistry(registry), await measureProcess()()]);
}

test('docs/operating.md describes every metric of the page, and no other', async () => {
  const { key } = await naru.account();
  upstream.respond(() => reply.chat('네'));
  const body = { model: 'test/echo', stream: true, messages: [{ role: 'user', content: '안녕' }] };
  assert.equal((await naru.send('POST', '/chat/completions', { key, body })).status, 200);
  await naru.settled();
  await until('the request is counted', async () => (await naru.metric('naru_requests_total')) > 0);
  const text = await pageText();
  const { types, series } = parseExposition(text);
  const helps = new Map([...text.matchAll(/^# HELP (\S+) (.*)$/gm)].map(([, name, help]) => [name, help]));
  // Elsewhere the library reads less of /proc.
  const rows = documented().filter(({ name }) => process.platform === 'linux' || types.has(name));
  assert.deepEqual(
    rows.map(({ name, type, help }) => ({ name, type, help })),
    [...types].map(([name, type]) => ({ name, type, help: helps.get(name) })),
  );
  for (const { name, labels } of rows) {
    const one = series.find((each) => each.name === name || each.name === `${name}_bucket`);
    if (one === undefined) continue;
    const found = Object.keys(one.labels).filter((label) => label !== 'le');
    assert.deepEqual(found.toSorted(), labels.toSorted(), name);
  }
});
