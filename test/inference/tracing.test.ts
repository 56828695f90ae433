/** Traces of calls, as an OpenTelemetry collector receives them from a gateway. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { sendThrough } from '../../src/http/client/proxy.ts';
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../harness/gateway.ts';
import { startProxy } from '../harness/proxy.ts';
import { scaledLimit } from '../harness/time-limit.ts';
import { eventually } from '../harness/until.ts';
import { reply, startUpstream, type Upstream } from '../harness/upstream.ts';

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
  readonly events: readonly { readonly name: string }[];
  readonly status: { readonly code?: number; readonly message?: string };
}

interface Collector {
  readonly url: string;
  readonly spans: Span[];
  readonly headers: Record<string, unknown>[];
  /** The status of its responses; 0: it never responds. */
  status: number;
}

const messages = [{ role: 'user', content: 'the secret prompt' }];
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const parentId = '00f067aa0ba902b7';

async function startCollector(t: TestContext): Promise<Collector> {
  const collector = { url: '', spans: [] as Span[], headers: [] as Record<string, unknown>[], status: 200 };
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const piece of request) text += piece;
    collector.headers.push({ ...request.headers, url: request.url });
    if (collector.status === 200)
      for (const { scopeSpans } of JSON.parse(text).resourceSpans)
        for (const { spans } of scopeSpans) collector.spans.push(...spans);
    if (collector.status === 0) return;
    response.writeHead(collector.status, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  collector.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`;
  return collector;
}

interface Traced {
  readonly naru: TestGateway;
  readonly key: string;
  readonly upstreams: readonly Upstream[];
  readonly chat: (
    more?: object,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<{ readonly text: string; readonly status: number; readonly headers: Headers }>;
}

/** A gateway with a chain of two upstreams, and a model on an own slot. */
async function startTraced(
  t: TestContext,
  tracing: object | null,
  config: TestGatewayOptions['config'] = {},
): Promise<Traced> {
  const upstreams = [await startUpstream(), await startUpstream()];
  const naru = await startTestGateway({
    models: [
      { id: 'test/two', upstreams: upstreams.map(({ url }) => url) },
      { id: 'test/own', upstreams: [], model: { candidates: [{ slot: 'own' }] } },
    ],
    config: {
      ...(tracing === null ? {} : { tracing }),
      slots: [
        { name: 'own', external: { base_url: upstreams[0]?.url.replace('/v1', ''), health_path: '/health' } },
      ] as object,
      ...config,
    },
  });
  t.after(async () => {
    await naru.close();
    for (const upstream of upstreams) await upstream.close();
  });
  const { key } = await naru.account();
  const chat: Traced['chat'] = (more = {}, headers = {}) =>
    naru.send('POST', '/chat/completions', { key, headers, body: { model: 'test/two', messages, ...more } });
  return { naru, key, upstreams, chat };
}

const attributeOf = (span: Span, key: string): unknown =>
  Object.values(span.attributes.find((one) => one.key === key)?.value ?? {})[0];

function headerOf(request: Upstream['requests'][number] | undefined, name: string): string | null {
  return request?.headers.find(([each]) => each.toLowerCase() === name)?.[1] ?? null;
}

/** Waits until the collector has the spans of `calls` calls. */
async function callsOf({ spans }: Collector, calls: number): Promise<readonly Span[]> {
  return eventually('the calls are exported', 20_000, () => {
    const roots = spans.filter(({ kind }) => kind === 2);
    return roots.length >= calls ? roots : null;
  });
}

test('a call is a trace: admission, each attempt, the first token, the settlement', async (t) => {
  const collector = await startCollector(t);
  const { chat, upstreams } = await startTraced(t, {
    otlp_url: collector.url,
    headers: { authorization: 'Bearer collector-secret' },
  });
  upstreams[0]?.next(reply.status(503));
  upstreams[1]?.next(reply.stream(['some ', 'words']));
  const response = await chat({ stream: true });
  assert.equal(response.status, 200, response.text);
  const [root] = await callsOf(collector, 1);
  assert.ok(root !== undefined);
  assert.equal(collector.headers[0]?.['authorization'], 'Bearer collector-secret');
  const spans = collector.spans.filter((span) => span.traceId === root.traceId);
  assert.deepEqual(spans.map(({ name }) => name).sort(), [
    'admission',
    'attempt up1/upstream-two',
    'attempt up2/upstream-two',
    'chat test/two',
    'first token',
    'settlement',
  ]);
  const named = (name: string): Span => spans.find((span) => span.name === name) ?? assert.fail(name);
  assert.equal(root.name, 'chat test/two');
  assert.equal(root.parentSpanId ?? '', '');
  assert.equal(attributeOf(root, 'naru.request_id'), response.headers.get('x-service-request-id'));
  assert.equal(attributeOf(root, 'naru.generation_id'), response.headers.get('x-generation-id'));
  assert.equal(attributeOf(root, 'gen_ai.response.model'), 'test/two');
  assert.equal(attributeOf(root, 'gen_ai.provider.name'), 'Upstream 2');
  assert.equal(Number(attributeOf(root, 'http.response.status_code')), 200);
  assert.ok(Number(attributeOf(root, 'gen_ai.usage.output_tokens')) > 0);
  const [failed, won] = [named('attempt up1/upstream-two'), named('attempt up2/upstream-two')];
  assert.deepEqual([failed.status.code, failed.status.message], [2, 'refused']);
  assert.equal(Number(attributeOf(failed, 'http.response.status_code')), 503);
  assert.equal(won.status.code ?? 0, 0);
  assert.deepEqual(
    won.events.map(({ name }) => name),
    ['acquired', 'connected', 'response head'],
  );
  for (const name of ['admission', failed.name, won.name, 'settlement'])
    assert.equal(named(name).parentSpanId, root.spanId, name);
  assert.equal(named('first token').parentSpanId, won.spanId);
  assert.ok(Number(attributeOf(named('settlement'), 'naru.cost_krw')) > 0);
  // One after the other, within the call; instants of attempts are whole milliseconds.
  const order = ['admission', failed.name, won.name, 'settlement'].map(named);
  for (const [at, span] of order.entries()) {
    const before = order[at - 1] ?? null;
    const slackNs = 2_000_000n;
    assert.ok(BigInt(span.startTimeUnixNano) >= BigInt(root.startTimeUnixNano), span.name);
    assert.ok(BigInt(span.endTimeUnixNano) <= BigInt(root.endTimeUnixNano) + slackNs, span.name);
    assert.ok(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano), span.name);
    if (before !== null)
      assert.ok(BigInt(span.startTimeUnixNano) + slackNs >= BigInt(before.endTimeUnixNano), span.name);
  }
  assert.ok(!JSON.stringify(spans).includes('secret prompt'), 'no content is exported');
  assert.ok(!JSON.stringify(spans).includes('some words'));
});

test('the collector is called through the proxy of the process', async (t) => {
  const collector = await startCollector(t);
  const { port, pathname } = new URL(collector.url);
  const proxy = await startProxy(t, { 'otlp.test': Number(port) });
  t.after(await sendThrough({ HTTP_PROXY: proxy.url, NO_PROXY: '127.0.0.1' }));
  const { chat } = await startTraced(t, { otlp_url: `http://otlp.test${pathname}` });
  assert.equal((await chat()).status, 200);
  await callsOf(collector, 1);
  assert.equal(proxy.seen[0], `POST http://otlp.test${pathname}`);
});

test('a refused call is a trace without attempts', async (t) => {
  const collector = await startCollector(t);
  const { chat } = await startTraced(t, { otlp_url: collector.url });
  assert.equal((await chat({ model: 'test/none' })).status, 400);
  const [root] = await callsOf(collector, 1);
  assert.deepEqual([root?.status.code, root?.status.message], [2, 'model_not_found']);
  assert.deepEqual(collector.spans.map(({ name }) => name).sort(), [
    'admission',
    'chat test/none',
    'settlement',
  ]);
});

test('the trace of a trusted proxy is continued, up to our own engine and no further', async (t) => {
  const collector = await startCollector(t);
  const { chat, upstreams } = await startTraced(
    t,
    { otlp_url: collector.url, sample_percent: 0 },
    { edge: { trusted_proxies: ['127.0.0.1'] } },
  );
  const headers = { traceparent: `00-${traceId}-${parentId}-01`, tracestate: 'vendor=value,other=1' };
  assert.equal((await chat({ model: 'test/own' }, headers)).status, 200);
  assert.equal((await chat({}, headers)).status, 200);
  // Neither a proxy that does not sample nor the configured share exports these.
  assert.equal(
    (await chat({ model: 'test/own' }, { traceparent: `00-${traceId}-${parentId}-00` })).status,
    200,
  );
  assert.equal((await chat({}, { traceparent: 'nonsense' })).status, 200);
  const roots = await callsOf(collector, 2);
  assert.deepEqual(
    roots.map((root) => [root.traceId, root.parentSpanId, root.traceState]),
    [traceId, traceId].map((id) => [id, parentId, headers.tracestate]),
  );
  const calls = upstreams.flatMap(({ requests }) => requests).filter(({ method }) => method === 'POST');
  const own = calls.filter((call) => headerOf(call, 'traceparent') !== null);
  const [sampled, unsampled] = own;
  const attempt = collector.spans.find(
    (span) => span.kind === 3 && attributeOf(span, 'gen_ai.request.model') === 'test/own',
  );
  assert.equal(headerOf(sampled, 'traceparent'), `00-${traceId}-${attempt?.spanId}-01`);
  assert.equal(headerOf(sampled, 'tracestate'), headers.tracestate);
  assert.match(
    String(headerOf(unsampled, 'traceparent') ?? ''),
    new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`),
  );
  assert.deepEqual([calls.length, own.length], [4, 2], 'a provider gets none');
});

test('a client that is no trusted proxy cannot choose its trace', async (t) => {
  const collector = await startCollector(t);
  const { chat } = await startTraced(t, { otlp_url: collector.url });
  assert.equal((await chat({}, { traceparent: `00-${traceId}-${parentId}-00` })).status, 200);
  const [root] = await callsOf(collector, 1);
  assert.notEqual(root?.traceId, traceId);
  assert.equal(root?.parentSpanId ?? '', '');
});

test('without the member nothing is traced, and an engine gets no header', async (t) => {
  const { chat, upstreams } = await startTraced(t, null, { edge: { trusted_proxies: ['127.0.0.1'] } });
  assert.equal(
    (await chat({ model: 'test/own' }, { traceparent: `00-${traceId}-${parentId}-01` })).status,
    200,
  );
  const [call] = upstreams[0]?.requests.filter(({ method }) => method === 'POST') ?? [];
  assert.equal(headerOf(call, 'traceparent'), null);
});

test('a collector that rejects spans is logged once and counted, and no call notices', async (t) => {
  const collector = await startCollector(t);
  collector.status = 400;
  const { chat, naru } = await startTraced(t, { otlp_url: collector.url });
  const failed = async (): Promise<number> => {
    const metrics = await naru.gateway.metrics();
    const { values = [] } = metrics.find(({ name }) => name === 'naru_trace_spans_total') ?? {};
    return values.find(({ labels }) => labels['result'] === 'failed')?.value ?? 0;
  };
  for (const spans of [4, 8]) {
    assert.equal((await chat()).status, 200);
    await eventually('the export failed', 20_000, async () => ((await failed()) >= spans ? true : null));
  }
  const logged = naru.logged.filter(({ event }) => event === 'trace_export_failed');
  assert.equal(logged.length, 1);
});

test('a collector that never responds does not hold up a stop', async (t) => {
  const collector = await startCollector(t);
  collector.status = 0;
  const { chat, naru } = await startTraced(t, { otlp_url: collector.url });
  assert.equal((await chat()).status, 200);
  const startedMs = performance.now();
  await naru.stop();
  const tookMs = performance.now() - startedMs;
  assert.ok(tookMs < scaledLimit(6_000), `${tookMs} ms`);
});
