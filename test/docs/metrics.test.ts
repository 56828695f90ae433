import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { addWorkerMetrics } from '../../src/app/workers/worker-reports.ts';
import { measureProcess } from '../../src/metrics/process-metrics.ts';
import { Registry, readRegistry, renderPage } from '../../src/metrics/registry.ts';
import { parseExposition } from '../harness/exposition.ts';
import { startTestGateway, type TestGateway, testPrice } from '../harness/gateway.ts';
import { until } from '../harness/until.ts';
import { reply, startUpstream, type Upstream } from '../harness/upstream.ts';

/* The metrics of a gateway that has done a little of everything. */

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

async function pageText(): Promise<string> {
  const registry = new Registry();
  addWorkerMetrics(registry, { serving: 2, restarts: 0 });
  return renderPage([await naru.gateway.metrics(), await readRegistry(registry), await measureProcess()()]);
}

test('every metric of the page states its meaning, and those that docs/operating.md names exist', async () => {
  const { key } = await naru.account();
  upstream.respond(() => reply.chat('네'));
  const body = { model: 'test/echo', stream: true, messages: [{ role: 'user', content: '안녕' }] };
  assert.equal((await naru.send('POST', '/chat/completions', { key, body })).status, 200);
  await naru.settled();
  await until('the request is counted', async () => (await naru.metric('naru_requests_total')) > 0);
  const text = await pageText();
  const { types } = parseExposition(text);
  const helps = new Map([...text.matchAll(/^# HELP (\S+) (.*)$/gm)].map(([, name, help]) => [name, help]));
  for (const name of types.keys()) assert.ok((helps.get(name) ?? '').length > 10, name);
  const named = [...read('docs/operating.md').matchAll(/\bnaru_\w+/g)].map(([name]) =>
    name.replace(/_bucket$/, ''),
  );
  assert.ok(named.length > 20);
  assert.deepEqual(
    named.filter((name) => !types.has(name)),
    [],
  );
});
