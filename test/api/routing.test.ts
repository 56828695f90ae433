import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { callControl } from '../../src/http/control/call.ts';
import { serveControl } from '../../src/http/control/serve.ts';
import type { RouteReport } from '../../src/inference/route-reports.ts';
import { silentLog } from '../../src/log/log.ts';
import { systemClock } from '../../src/time/clock.ts';
import { tempDir } from '../harness/fake-engine.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { until } from '../harness/until.ts';
import { gate, reply, startUpstream, type Upstream } from '../harness/upstream.ts';

/* What traffic teaches the gateway about its candidates, and what that does to the next request. */

let one: Upstream;
let two: Upstream;
let naru: TestGateway;
let account: TestAccount;
let fresh = 0;

before(async () => {
  [one, two] = await Promise.all([startUpstream(), startUpstream()]);
  // Each test has its own model, and so its own candidates: their health is not shared.
  naru = await startTestGateway({
    models: Array.from({ length: 17 }, (_, n) => ({
      id: `test/m${n}`,
      upstreams: [one.url, two.url],
      ...(n === 16 ? { candidates: [{ weight: 1 }, { weight: 1 }] } : {}),
    })),
    config: { routing: { circuit_failures: 3, circuit_open_ms: 150, cool_down_ms: 60_000 } },
  });
  account = await naru.account({ credit: '100000000' });
});
after(async () => {
  await naru?.close();
  await one?.close();
  await two?.close();
});
afterEach(() => {
  one.always(reply.chat('one'));
  two.always(reply.chat('two'));
});

const nextModel = (): string => {
  fresh += 1;
  return `test/m${fresh}`;
};

function send(model: string, more: object = {}) {
  const body = { model, messages: [{ role: 'user', content: 'x' }], ...more };
  return naru.send('POST', '/chat/completions', { key: account.key, body });
}

async function servedBy(model: string, more: object = {}): Promise<string | null> {
  const response = await send(model, more);
  assert.equal(response.status, 200, response.text);
  return response.headers.get('x-service-provider');
}

async function record(response: Awaited<ReturnType<typeof send>>) {
  const id = response.headers.get('x-service-generation-id');
  return (await naru.send('GET', `/generation?id=${id}`, { key: account.key })).json.data;
}

const labelOf = (model: string, up = 1): string => `up${up}/upstream-${model.split('/')[1]}`;

test('a candidate that keeps failing is tried last until a probe succeeds', async () => {
  const model = nextModel();
  one.always(reply.status(500));
  two.always(reply.chat('two'));
  for (let n = 0; n < 3; n += 1) assert.equal(await servedBy(model), 'up2');
  // On a busy machine a request may come late enough to probe; each failed probe doubles the wait.
  let before: number;
  let response: Awaited<ReturnType<typeof send>>;
  let tries = 0;
  do {
    before = one.requests.length;
    response = await send(model);
    tries += 1;
  } while (one.requests.length > before && tries < 10);
  assert.equal(response.headers.get('x-service-provider'), 'up2');
  assert.equal(one.requests.length, before);
  const { routing, provider_responses: responses } = await record(response);
  assert.deepEqual(routing, {
    by: 'file',
    chain: [2, 1].map((up) => ({ model_permaslug: model, endpoint_id: labelOf(model, up) })),
    held_back: [{ model_permaslug: model, endpoint_id: labelOf(model), reason: 'circuit_open' }],
    dropped: [],
  });
  assert.equal(responses.length, 1);
  one.always(reply.chat('one'));
  await until('it responds again', async () => (await servedBy(model)) === 'up1');
  assert.equal(await servedBy(model), 'up1');
});

test('of many concurrent requests one probes, and the others use other candidates', async () => {
  const model = nextModel();
  one.always(reply.status(503));
  two.always(reply.chat('two'));
  for (let n = 0; n < 3; n += 1) await servedBy(model);
  await until('a probe is due', () => naru.gateway.health.statusOf(labelOf(model)).circuit === 'due');
  const held = gate();
  one.always(reply.chat('one').pauseAt('head', held));
  const sent = one.requests.length;
  const responses = Array.from({ length: 20 }, () => servedBy(model));
  await until('it is being probed', () => one.requests.length > sent);
  await until('the others are complete', () => naru.gateway.server.inFlight() === 1);
  assert.equal(one.requests.length, sent + 1);
  held.open();
  const by = await Promise.all(responses);
  assert.equal(by.filter((name) => name === 'up1').length, 1);
  assert.equal(await servedBy(model), 'up1');
});

test('a client that disconnects during its probe leaves the probe to the next request', async () => {
  const model = nextModel();
  one.always(reply.status(500));
  for (let n = 0; n < 3; n += 1) await servedBy(model);
  const standing = () => naru.gateway.health.statusOf(labelOf(model)).circuit;
  await until('a probe is due', () => standing() === 'due');
  one.always(reply.hang());
  const leaving = new AbortController();
  const body = { model, messages: [{ role: 'user', content: 'x' }] };
  const left = naru.send('POST', '/chat/completions', { key: account.key, body, signal: leaving.signal });
  const gone = assert.rejects(left);
  await until('it is being probed', () => standing() === 'probing');
  leaving.abort();
  await gone;
  await until('the probe is free again', () => standing() === 'due');
  one.always(reply.chat('one'));
  assert.equal(await servedBy(model), 'up1');
});

test('when no other candidate is left, one with an open circuit is tried', async () => {
  const model = nextModel();
  one.always(reply.status(500));
  for (let n = 0; n < 3; n += 1) await servedBy(model);
  one.always(reply.chat('one'));
  two.always(reply.status(500));
  assert.equal(await servedBy(model), 'up1');
});

test('after a 429 a candidate is skipped for as long as it states, within bounds', async () => {
  const standing = (model: string) => naru.gateway.health.statusOf(labelOf(model));
  for (const [retryAfter, least, most] of [
    ['30', 25_000, 30_000],
    ['999999999', 55_000, 60_000],
    [new Date(Date.now() - 60_000).toUTCString(), 55_000, 60_000],
    [undefined, 55_000, 60_000],
  ] as const) {
    const model = nextModel();
    one.always(reply.tooMany(retryAfter));
    const first = await send(model);
    assert.equal(first.headers.get('x-service-provider'), 'up2');
    const { coolingMs } = standing(model);
    assert.ok(coolingMs > least && coolingMs <= most, `${retryAfter}: ${coolingMs}`);
    const count = one.requests.length;
    const second = await send(model);
    assert.equal(one.requests.length, count);
    assert.equal((await record(second)).routing.held_back[0].reason, 'cooling_down');
  }
});

test('a request with unsupported content records the reasons, also when it is rejected', async () => {
  const model = 'test/m0';
  const preferred = await send(model, { provider: { ignore: ['up1'], sort: 'price' } });
  const { routing } = await record(preferred);
  assert.equal(routing.by, 'file');
  assert.deepEqual(
    routing.dropped.map((row: { endpoint_id: string; reason: string }) => [row.endpoint_id, row.reason]),
    [[labelOf(model), 'ignored']],
  );
  assert.equal((await record(await send(model))).routing, null);
  const refused = await send(model, { provider: { max_price: { prompt: 1 } } });
  assert.equal(refused.status, 404);
  assert.match(refused.json.error.message, /won per million tokens/);
});

// spec:compat/4.6
test('a session stays with the candidate that has its prompts in the cache', async () => {
  const first = new Map<string, string | null>();
  for (let n = 0; n < 12; n += 1) first.set(`s${n}`, await servedBy('test/m16', { session_id: `s${n}` }));
  assert.deepEqual(new Set(first.values()), new Set(['up1', 'up2']));
  for (const [session, by] of first) {
    assert.equal(await servedBy('test/m16', { session_id: session }), by);
    const header = await naru.send('POST', '/chat/completions', {
      key: account.key,
      body: { model: 'test/m16', messages: [{ role: 'user', content: 'x' }] },
      headers: { 'x-session-id': session },
    });
    assert.equal(header.headers.get('x-service-provider'), by);
  }
});

test('health data survives a reload, except for removed candidates', async () => {
  const model = nextModel();
  one.always(reply.tooMany('600'));
  await send(model);
  const config = { ...naru.config };
  await naru.gateway.reload(config);
  assert.ok(naru.gateway.health.statusOf(labelOf(model)).coolingMs > 0);
  await naru.gateway.reload({ ...config, models: config.models.filter(({ id }) => id !== model) });
  assert.equal(naru.gateway.health.statusOf(labelOf(model)).coolingMs, 0);
  await naru.gateway.reload(config);
});

test('the metrics show the health of every candidate, and the control socket explains a request', async (t) => {
  const model = nextModel();
  one.always(reply.status(500));
  for (let n = 0; n < 3; n += 1) await servedBy(model);
  const read = (path: string) => fetch(`http://127.0.0.1:${naru.gateway.admin.port}${path}`);
  const metrics = await (await read('/metrics')).text();
  const series = (name: string, up: number, labels = '') =>
    new RegExp(`^${name}\\{candidate="${labelOf(model, up)}"${labels}\\} [\\d.]+$`, 'm');
  assert.match(metrics, series('naru_upstream_circuit', 1));
  assert.match(metrics, new RegExp(`^naru_upstream_uptime_ratio\\{candidate="${labelOf(model)}"\\} 0$`, 'm'));
  assert.match(
    metrics,
    new RegExp(`^naru_upstream_uptime_ratio\\{candidate="${labelOf(model, 2)}"\\} 1$`, 'm'),
  );
  assert.match(metrics, series('naru_upstream_tokens_per_second', 2));
  assert.doesNotMatch(
    metrics,
    series('naru_upstream_latency_seconds', 1, ',quantile="0.5"'),
    'nothing was streamed',
  );
  // Each name is introduced once, as the format requires.
  const introduced = [...metrics.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name);
  assert.equal(new Set(introduced).size, introduced.length);
  for (const path of ['/route', '/route/health', '/constructor', '/'])
    assert.equal((await read(path)).status, 404, path);
  const dataDir = tempDir();
  const control = await serveControl({
    dataDir,
    roots: [],
    respond: naru.gateway.routeReports,
    log: silentLog,
  });
  t.after(() => control?.close());
  const call = (path: string, method: 'GET' | 'POST' = 'GET') =>
    callControl(dataDir, { method, path, limitMs: 10_000 }, systemClock);
  const { body } = await call(`/route?model=${model}`);
  assert.equal((body as RouteReport).explanation.candidates.length, 2);
  const labels = ((await call('/route/health')).body as { candidate: string }[]).map((row) => row.candidate);
  assert.ok(labels.includes(labelOf(model)) && labels.includes(labelOf(model, 2)), String(labels));
  for (const [path, status] of [
    ['/route?model=no/such', 400],
    ['/route', 400],
    ['/route?model=test/m0&provider={', 400],
    ['/route/constructor', 404],
    ['/route/health/more', 404],
  ] as const) {
    const refused = await call(path);
    assert.equal(refused.status, status, path);
    assert.equal(typeof (refused.body as { error: unknown }).error, 'string', path);
  }
  assert.equal((await call('/route', 'POST')).status, 405);
  assert.equal(
    (await fetch(`http://127.0.0.1:${naru.gateway.admin.port}/metrics`, { method: 'POST' })).status,
    404,
  );
});

test("a rejected request's model is recorded too, in a few bytes", async () => {
  const payer = await naru.account();
  const body = {
    model: 'test/m0',
    messages: [{ role: 'user', content: 'x' }],
    provider: { only: ['nobody'] },
  };
  assert.equal((await naru.send('POST', '/chat/completions', { key: payer.key, body })).status, 404);
  await naru.settled();
  const [row] = await naru.database.query<{ route: string }>(
    "SELECT detail->>'route' AS route FROM generation WHERE account_id = $1",
    [payer.accountId],
  );
  assert.deepEqual(JSON.parse(row?.route ?? ''), {
    by: 'file',
    chain: [],
    held: [],
    dropped: [1, 2].map((up) => [0, labelOf('test/m0', up), 'not_in_only']),
  });
  assert.ok((row?.route.length ?? 1_000) < 160, String(row?.route));
});

// spec:conformance/229
test('the tokens of a prompt of megabytes are counted without delaying requests', async () => {
  const content = '나루는 강을 건너는 곳이다. '.repeat(120_000);
  const body = { model: 'test/m0', messages: [{ role: 'user', content }], max_tokens: 1 };
  const payer = await naru.account({ credit: '100000000' });
  const long = naru.send('POST', '/chat/completions', { key: payer.key, body });
  const short = await Promise.all(Array.from({ length: 20 }, () => servedBy('test/m0')));
  assert.equal(short.length, 20);
  const response = await long;
  assert.equal(response.status, 404);
  assert.equal(response.json.error.metadata.error_type, 'no_endpoints_found');
  assert.match(response.json.error.message, /the prompt exceeds the context length/);
});
