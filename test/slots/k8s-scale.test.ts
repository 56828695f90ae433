import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import type { KubeTarget, SlotSettings } from '../../src/config/config.ts';
import { Secret } from '../../src/config/secret.ts';
import { createLog } from '../../src/log/log.ts';
import { scaledDriver } from '../../src/slots/drivers/kubernetes.ts';
import type { SlotLease, Slots, SlotsOptions } from '../../src/slots/slots.ts';
import { type Clock, pause, systemClock } from '../../src/time/clock.ts';
import { engineSlot, openSlots, tempDir } from '../harness/fake-engine.ts';
import { type Fault, type KubeApi, kubePath, startKubeApi } from '../harness/kube-api.ts';
import { scaledLimit } from '../harness/time-limit.ts';
import { until } from '../harness/until.ts';

/* A slot whose engine is a Deployment (design.md, K), against an API server on TLS. */

const name = 'local-a';
const me = (coldWaitMs = 20_000) => ({ accountId: 1, signal: new AbortController().signal, coldWaitMs });

interface World {
  readonly api: KubeApi;
  readonly slots: Slots;
  readonly logged: string[];
}

function slotOf(api: KubeApi, k8s: Partial<KubeTarget>, more: Partial<SlotSettings>): SlotSettings {
  const target: KubeTarget = {
    apiUrl: api.url,
    namespace: 'gpu',
    deployment: 'vllm',
    replicas: 2,
    manage: true,
    token: new Secret('sesame'),
    tokenFile: null,
    ca: api.ca,
    caFile: null,
    ...k8s,
  };
  return engineSlot(
    {},
    { driver: { kind: 'k8s-scale', baseUrl: api.serviceUrl, healthPath: '/up', k8s: target }, ...more },
  );
}

async function open(
  t: TestContext,
  k8s: Partial<KubeTarget> = {},
  prepare: (api: KubeApi) => void = () => {},
  more: Partial<SlotSettings> = {},
  options: Partial<SlotsOptions> = {},
): Promise<World> {
  const api = await startKubeApi(t, tempDir());
  prepare(api);
  const logged: string[] = [];
  const log = createLog((line) => logged.push(line), 'debug', systemClock.now);
  const slots = await openSlots(t, slotOf(api, k8s, more), { log, coldWaitMs: 20_000, ...options });
  return { api, slots, logged };
}

/** The reason of a start that the API server's fault makes fail. */
async function reasonOf(t: TestContext, fault: Fault): Promise<{ reason: string; world: World }> {
  const world = await open(t, {}, (api) => {
    api.fault = fault;
  });
  assert.equal((await world.slots.acquire(name, me())).kind, 'loading');
  const hasEnded = () => ['BACKOFF', 'COLD'].includes(world.slots.status(name).state);
  await until('the end of the start', hasEnded, 20_000);
  return { reason: world.slots.status(name).reason, world };
}

describe('a Deployment', { concurrency: 8 }, () => {
  test('is scaled up by the first request, serves when its service is healthy, and is scaled to zero by a stop', async (t) => {
    const { api, slots } = await open(t, {}, (one) => {
      one.healthy = false;
    });
    const sent = slots.acquire(name, me());
    await until('the scaling', () => api.wanted === 2);
    assert.equal(slots.status(name).state, 'STARTING');
    api.healthy = true;
    const lease = (await sent) as SlotLease;
    assert.deepEqual([lease.kind, lease.baseUrl], ['lease', `${api.serviceUrl}/v1`]);
    const { driver, state, pid, port } = slots.status(name);
    assert.deepEqual([driver, state, pid, port], ['k8s-scale', 'READY', null, null]);
    lease.release();
    api.lags = true;
    let isOver = false;
    const stopping = slots.stop(name).then(() => {
      isOver = true;
    });
    await until('the order to stop', () => api.wanted === 0);
    const seen = api.calls.length;
    await until('a look at the pods', () => api.calls.length > seen);
    assert.deepEqual([isOver, slots.status(name).state], [false, 'STOPPING']);
    api.running = 0;
    await stopping;
    assert.equal(slots.status(name).state, 'COLD');
    assert.deepEqual([...new Set(api.calls.map(({ path }) => path))], [kubePath]);
    const patches = api.calls.filter(({ method }) => method === 'PATCH');
    assert.deepEqual(
      patches.map(({ body }) => JSON.parse(body)),
      [{ spec: { replicas: 2 } }, { spec: { replicas: 0 } }],
    );
    // The credential is for the API server alone.
    assert.ok(
      api.probes.length > 0 && api.probes.every(({ headers }) => headers.authorization === undefined),
    );
  });

  test('that was being scaled up again when it was stopped is scaled to zero after that', async (t) => {
    const api = await startKubeApi(t, tempDir());
    let passedMs = 0;
    const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + passedMs };
    const settings = slotOf(api, {}, {});
    const { driver } = settings;
    assert.ok(driver.kind === 'k8s-scale');
    const log = createLog(() => {}, 'debug', systemClock.now);
    const reported: string[] = [];
    const run = scaledDriver({ settings, driver, clock, log }).start(({ kind }) => reported.push(kind));
    await until('the start', () => reported.includes('spawned'));
    // Another client removes the pods, and the next check scales up again: that takes its time.
    [api.wanted, api.running] = [0, 0];
    const { promise: after, resolve: arrive } = Promise.withResolvers<void>();
    api.faults.push(null, { after });
    passedMs = 6_000;
    const probing = run.probe();
    const patches = (): number => api.calls.filter(({ method }) => method === 'PATCH').length;
    await until('the order for more pods', () => patches() === 2);
    run.terminate();
    // The duration of an order that waits for nothing.
    await pause(systemClock, 200, new AbortController().signal);
    arrive();
    await until('the end', () => reported.includes('gone'));
    await probing;
    assert.equal(api.wanted, 0);
  });

  test('is stopped when it is idle, and started again for the next request', async (t) => {
    const { api, slots } = await open(t, {}, undefined, { idleStopMs: 50 });
    ((await slots.acquire(name, me())) as SlotLease).release();
    await until('the idle stop', () => slots.status(name).state === 'COLD');
    assert.equal(api.wanted, 0);
    ((await slots.acquire(name, me())) as SlotLease).release();
    assert.equal(slots.status(name).starts, 2);
  });

  test('with more replicas than a start needs is left unchanged', async (t) => {
    const { api, slots } = await open(t, {}, (one) => {
      one.wanted = 5;
    });
    ((await slots.acquire(name, me())) as SlotLease).release();
    assert.equal(api.wanted, 5);
    assert.equal(api.calls.filter(({ method }) => method === 'PATCH').length, 0);
  });

  test('outlives Naru, whose successor finds it, uses it and stops it when it is idle', async (t) => {
    const { api, slots } = await open(t);
    ((await slots.acquire(name, me())) as SlotLease).release();
    await slots.close();
    assert.equal(api.wanted, 2);
    const next = await openSlots(t, slotOf(api, {}, { idleStopMs: 300 }));
    await until('the engine of before', () => next.status(name).state === 'READY');
    assert.equal(api.wanted, 2);
    await until('the idle stop', () => next.status(name).state === 'COLD');
    assert.equal(api.wanted, 0);
  });

  test('never keeps Naru from exiting, whatever its API server does', async (t) => {
    const { api, slots } = await open(t);
    await slots.acquire(name, me());
    api.fault = 'hang';
    const stopping = slots.stop(name, 0);
    await until('the stop', () => slots.status(name).state === 'STOPPING');
    const began = performance.now();
    await slots.close();
    await stopping;
    assert.ok(performance.now() - began < scaledLimit(3_000));
  });

  test('that another client scaled down is scaled up again when a request finds no pod', async (t) => {
    const { api, slots } = await open(t);
    const lease = (await slots.acquire(name, me())) as SlotLease;
    api.wanted = 0;
    api.running = 0;
    lease.release('unreachable');
    const again = (await slots.acquire(name, me())) as SlotLease;
    assert.equal(again.kind, 'lease');
    assert.equal(api.wanted, 2);
    assert.equal(slots.status(name).starts, 1);
  });

  test('that another client scales up again during a stop is left to it', async (t) => {
    const { api, slots } = await open(t);
    ((await slots.acquire(name, me())) as SlotLease).release();
    api.lags = true;
    const stopping = slots.stop(name);
    await until('the order to stop', () => api.wanted === 0);
    api.wanted = 3;
    await stopping;
    assert.equal(api.wanted, 3);
  });

  test('that is not managed is only probed', async (t) => {
    const { api, slots } = await open(t, { manage: false });
    assert.equal((await slots.acquire(name, me(200))).kind, 'loading');
    assert.equal(slots.status(name).state, 'STARTING');
    api.running = 1;
    ((await slots.acquire(name, me())) as SlotLease).release();
    await slots.stop(name);
    assert.equal(slots.status(name).state, 'COLD');
    assert.deepEqual(api.calls, []);
  });
});

describe('a credential', { concurrency: 4 }, () => {
  test('is read from its file for each call, so that a renewed one is used', async (t) => {
    const tokenFile = join(tempDir(), 'token');
    writeFileSync(tokenFile, 'sesame\n');
    const { api, slots } = await open(t, { token: null, tokenFile });
    ((await slots.acquire(name, me())) as SlotLease).release();
    api.tokens = ['renewed'];
    writeFileSync(tokenFile, 'renewed\n');
    await slots.stop(name);
    assert.equal(api.calls.at(-1)?.authorization, 'Bearer renewed');
    assert.equal(api.wanted, 0);
  });

  test('that is renewed in the middle of a start does not fail it', async (t) => {
    const tokenFile = join(tempDir(), 'token');
    writeFileSync(tokenFile, 'old');
    const { api, slots } = await open(t, { token: null, tokenFile });
    const pending = slots.acquire(name, me());
    await until('a refusal', () => api.calls.some(({ authorization }) => authorization === 'Bearer old'));
    writeFileSync(tokenFile, 'sesame');
    assert.equal((await pending).kind, 'lease');
  });

  test('whose file is missing is named; no request is sent without it', async (t) => {
    const tokenFile = join(tempDir(), 'token');
    const { api, slots } = await open(t, { token: null, tokenFile });
    assert.equal((await slots.acquire(name, me())).kind, 'loading');
    assert.match(
      slots.status(name).reason,
      /token cannot be read \(ENOENT\): is this a pod with a service account\?/,
    );
    writeFileSync(tokenFile, 'two\nlines');
    slots.start(name);
    await until('the failure', () => /invalid in a header/.test(slots.status(name).reason));
    rmSync(tokenFile);
    assert.deepEqual(api.calls, []);
  });

  test('is not sent to a server that has another certificate', async (t) => {
    const { api, slots } = await open(t, { ca: null });
    assert.equal((await slots.acquire(name, me())).kind, 'loading');
    assert.match(slots.status(name).reason, /is unreachable: self-signed certificate/);
    assert.deepEqual(api.calls, []);
  });

  test('does not follow a redirect, and is in no reason and no log, whatever the server returns', async (t) => {
    const elsewhere = await startKubeApi(t, tempDir());
    const headers = { location: `${elsewhere.url}${kubePath}` };
    const body = JSON.stringify({ kind: 'Status', message: 'you sent\n  Bearer sesame, \u001b[31msesame' });
    const { reason, world } = await reasonOf(t, { status: 307, headers, body });
    assert.deepEqual(elsewhere.calls, []);
    assert.match(
      reason,
      /^the Kubernetes API returned 307 for deployment gpu\/vllm: you sent Bearer \*\*\*, \[31m\*\*\*$/,
    );
    assert.doesNotMatch(world.logged.join(''), /sesame/);
  });
});

describe('an API server', { concurrency: 20 }, () => {
  const faults: readonly (readonly [string, Fault, RegExp, number | null])[] = [
    ['rejects the token', { status: 401 }, /rejects the token \(401\): as scripted/, 4],
    [
      'forbids it',
      { status: 403 },
      /service account may not scale deployment gpu\/vllm \(403\): as scripted/,
      1,
    ],
    ['has no such Deployment', { status: 404 }, /there is no deployment gpu\/vllm \(404\)/, 1],
    ['always has a conflict', { status: 409 }, /changed concurrently \(409\)/, 4],
    [
      'limits the request rate',
      { status: 429, headers: { 'retry-after': '0' } },
      /limits the request rate \(429\)/,
      4,
    ],
    [
      'is broken',
      { status: 503, body: '<html>bad gateway</html>' },
      /returned 503 for deployment gpu\/vllm$/,
      4,
    ],
    ['does not know the call', { status: 415 }, /returned 415/, 1],
    [
      'responds with nonsense',
      { status: 200, body: '<html>login</html>' },
      /returned 200 with a body that is not a Scale/,
      4,
    ],
    [
      'responds with something else',
      { status: 200, body: '{"kind":"Deployment","spec":{"replicas":1}}' },
      /not a Scale/,
      4,
    ],
    [
      'has replicas that are no count',
      { status: 200, body: '{"kind":"Scale","spec":{"replicas":-1}}' },
      /not a Scale/,
      4,
    ],
    [
      'sends too much',
      { status: 200, body: 'x'.repeat(2_000_000) },
      /the response has more than 1048576 bytes/,
      null,
    ],
    ['hangs up', 'drop', /is unreachable: (socket hang up|the connection was closed|.*disconnected)/, 4],
  ];
  for (const [what, fault, message, calls] of faults)
    test(`that ${what} fails the start with that reason, and scales nothing`, async (t) => {
      const { reason, world } = await reasonOf(t, fault);
      assert.match(reason, message);
      assert.equal(world.api.wanted, 0);
      const reads = world.api.calls.filter(({ method }) => method === 'GET');
      // The first check is the one for an earlier engine.
      if (calls !== null) assert.equal(reads.length, calls + 1);
      assert.equal(world.api.calls.length, reads.length);
    });

  test('that does not respond fails the start at the time limit', async (t) => {
    const { reason } = await reasonOf(t, 'hang');
    assert.match(reason, /is unreachable: no complete response within 5000 ms/);
  });

  test('that recovers within a start does not fail it', async (t) => {
    const { api, slots } = await open(t);
    await until('the first look', () => api.calls.length === 1);
    api.faults.push({ status: 500 }, 'drop', { status: 409 });
    assert.equal((await slots.acquire(name, me())).kind, 'lease');
    assert.equal(api.wanted, 2);
  });

  test('that fails during a stop is retried until the pods are gone, and the log has the reason', async (t) => {
    const { api, slots, logged } = await open(t);
    ((await slots.acquire(name, me())) as SlotLease).release();
    api.faults.push({ status: 403 }, { status: 500 }, 'drop');
    await slots.stop(name);
    assert.equal(api.wanted, 0);
    const alarms = logged.filter((line) => line.includes('slot.scale_failed'));
    assert.equal(alarms.length, 3);
    assert.match(alarms[0] ?? '', /may not scale deployment gpu\/vllm \(403\)/);
  });

  test('whose Deployment is deleted ends a stop', async (t) => {
    const { api, slots } = await open(t);
    ((await slots.acquire(name, me())) as SlotLease).release();
    api.wanted = null;
    await slots.stop(name);
    assert.equal(slots.status(name).state, 'COLD');
  });

  test('that executed a request without responding gets the opposite request', async (t) => {
    const { api, slots } = await open(t, { replicas: 3 });
    await until('the first look', () => api.calls.length === 1);
    api.faults.push(null, 'lose');
    api.fault = { status: 403 };
    assert.equal((await slots.acquire(name, me())).kind, 'loading');
    assert.equal(api.wanted, 3);
    assert.equal(slots.status(name).state, 'STOPPING');
    assert.match(slots.status(name).reason, /may not scale/);
    api.fault = null;
    await until('the end of the pods', () => api.wanted === 0, 20_000);
    await until('the end of the start', () => slots.status(name).state !== 'STOPPING', 20_000);
  });

  test('whose pods are not ready within the budget scales them down again', async (t) => {
    const { api, slots } = await open(t, {}, undefined, { startBudgetMs: 400 });
    api.healthy = false;
    assert.equal((await slots.acquire(name, me())).kind, 'loading');
    // A scale-down that takes longer than the back-off leaves none of it.
    await until('the end of the start', () => ['BACKOFF', 'COLD'].includes(slots.status(name).state));
    assert.match(slots.status(name).reason, /not ready within 400 ms/);
    assert.equal(api.wanted, 0);
  });
});
