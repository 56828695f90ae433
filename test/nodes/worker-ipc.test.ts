import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Channel, IpcChannel } from '../../src/app/workers/ipc.ts';
import type { ParentChannel, WorkerChannel } from '../../src/app/workers/messages.ts';
import { remoteRateLimit, serveRateLimit } from '../../src/app/workers/remote-rate-limit.ts';
import { remoteSlotStates, remoteSlots, serveSlots } from '../../src/app/workers/remote-slots.ts';
import { metricsOf, rowsOf } from '../../src/app/workers/worker-reports.ts';
import { decodeConfig, encodeConfig } from '../../src/config/codec.ts';
import { OperatorError } from '../../src/errors/operator-error.ts';
import { RateLimit } from '../../src/http/rate-limit.ts';
import {
  addCounter,
  type MetricData,
  Registry,
  readRegistry,
  renderPage,
} from '../../src/metrics/registry.ts';
import { NodeIdentityTaken } from '../../src/nodes/node-identity.ts';
import type { SlotGrant, SlotLease } from '../../src/slots/contract.ts';
import { systemClock } from '../../src/time/clock.ts';
import { configOf } from '../config/load-text.ts';
import { parseExposition } from '../harness/exposition.ts';
import { engineSlot, openSlots } from '../harness/fake-engine.ts';
import { TestClock } from '../harness/test-clock.ts';
import { until } from '../harness/until.ts';

/* What crosses the channel between a parent and a worker, over one that is in memory: JSON, in order, and later. */

function channelPair(): readonly [Channel, Channel] {
  const listeners: ((message: unknown) => void)[][] = [[], []];
  const end = (at: 0 | 1): Channel => ({
    send(message) {
      const text = JSON.stringify(message);
      setImmediate(() => {
        for (const listener of listeners[1 - at] ?? []) listener(JSON.parse(text));
      });
    },
    onMessage: (listener) => void listeners[at]?.push(listener),
  });
  return [end(0), end(1)];
}

function links(): readonly [WorkerChannel, ParentChannel] {
  const [one, other] = channelPair();
  return [new IpcChannel(one), new IpcChannel(other)];
}

const me = (signal = new AbortController().signal) => ({ accountId: 1, signal });

function leased(response: SlotGrant): SlotLease {
  assert.ok(response.kind === 'lease');
  return response;
}

async function lent(t: TestContext, ...args: Parameters<typeof engineSlot>) {
  const slots = await openSlots(t, engineSlot(...args));
  const [parent, worker] = links();
  const giveBack = serveSlots(slots, parent);
  return { slots, lanes: remoteSlots(worker, systemClock), giveBack, parent, worker };
}

test('a request gets its response, a thrown error arrives as its message, and a closed end leaves no caller waiting', async () => {
  interface Sums {
    twice(n: number): number;
    never(): void;
    fail(): void;
    refuse(): void;
    unknown(): void;
  }
  const [one, other] = channelPair();
  const parent = new IpcChannel<object, Sums>(one);
  const worker = new IpcChannel<Sums, object>(other);
  parent.handle({
    twice: (n) => 2 * n,
    never: () => new Promise(() => {}),
    fail: () => {
      throw new Error('no such thing');
    },
    refuse: () => {
      throw new NodeIdentityTaken('h', {
        session: 's',
        process: 'p',
        address: 'a',
        seenAtMs: 0,
        silentMs: 1,
      });
    },
  });
  assert.equal(await worker.request('twice', 21), 42);
  await assert.rejects(worker.request('fail'), { name: 'Error', message: 'no such thing' });
  await assert.rejects(
    worker.request('refuse'),
    (error) => error instanceof OperatorError && /^node identity h is in use/.test(error.message),
  );
  await assert.rejects(worker.request('unknown'), /no handler for unknown/);
  const waiting = worker.request('never');
  worker.end(new Error('the parent is gone'));
  await assert.rejects(waiting, /the parent is gone/);
  await assert.rejects(worker.request('twice', 1), /the parent is gone/);
});

test('a lease over IPC is a lane of the engine until it is released, once', async (t) => {
  const { slots, lanes } = await lent(t);
  const news = new Promise((resolve) => lanes.watch(resolve));
  const lease = leased(await lanes.acquire('local-a', me()));
  assert.deepEqual(await news, { slot: 'local-a', isReady: true });
  const { requests } = (await (await fetch(`${lease.baseUrl}/x`)).json()) as { requests: number };
  assert.equal(requests, 1);
  assert.equal(slots.status('local-a').inFlight, 1);
  lease.release('served');
  lease.release();
  await until('the lane is free', () => slots.status('local-a').inFlight === 0);
  assert.ok(!lease.cancelReason.aborted);
});

test('a worker request that leaves the queue, or while it has a lease, holds no lane', async (t) => {
  const { slots, lanes } = await lent(t);
  const leaving = new AbortController();
  leased(await lanes.acquire('local-a', me(leaving.signal)));
  const impatient = new AbortController();
  const queued = lanes.acquire('local-a', me(impatient.signal));
  await until('it waits', () => slots.status('local-a').queued === 1);
  impatient.abort(new Error('left the queue'));
  await assert.rejects(queued, /left the queue/);
  await until('no request waits', () => slots.status('local-a').queued === 0);
  leaving.abort(new Error('left'));
  await until('the lane is free', () => slots.status('local-a').inFlight === 0);
  await assert.rejects(
    lanes.acquire('local-a', me(AbortSignal.abort(new Error('gone before')))),
    /gone before/,
  );
  await assert.rejects(lanes.acquire('no-such', me()), /no slot no-such/);
});

test('the loss of the engine reaches the worker that holds the lease', async (t) => {
  const { slots, lanes } = await lent(t);
  const lease = leased(await lanes.acquire('local-a', me()));
  await slots.stop('local-a', 0);
  await until('it knows', () => lease.cancelReason.aborted);
});

test('a worker reads the states of the slots, and without a response the last ones, as stale', async (t) => {
  const { slots, parent, worker } = await lent(t);
  const read = remoteSlotStates(worker, systemClock);
  assert.equal(await read(), null, 'the parent has no handler yet');
  let requests = 0;
  let isHung = false;
  parent.handle({
    'slots.statuses': () => {
      requests += 1;
      return isHung ? new Promise(() => {}) : slots.statuses();
    },
  });
  const both = await Promise.all([read(), read()]);
  for (const reading of both)
    assert.deepEqual(reading, { statuses: slots.statuses(), asOfMs: reading?.asOfMs, isStale: false });
  assert.equal(requests, 1, 'pages at once share a request');
  isHung = true;
  await until('the reading is stale', async () => (await read())?.isStale === true);
  const stale = await Promise.all([read(), read(), read()]);
  for (const reading of stale) assert.deepEqual(reading, { ...both[0], isStale: true });
  assert.equal(requests, 2, 'a parent that does not respond gets no further request');
});

test('a slot that is loading reports its wait, over IPC as well', async (t) => {
  const { lanes } = await lent(t, { delayMs: 3_000 });
  const granted = await lanes.acquire('local-a', { ...me(), coldWaitMs: 50 });
  assert.ok(granted.kind === 'loading' && granted.retryAfterSec >= 1);
});

test('the exit of a worker releases its lanes and its place in the queue', async (t) => {
  const { slots, lanes, giveBack } = await lent(t);
  leased(await lanes.acquire('local-a', me()));
  void lanes.acquire('local-a', me()).catch(() => {});
  await until('one waits', () => slots.status('local-a').queued === 1);
  giveBack();
  await until('nothing is left', () => {
    const { inFlight, queued } = slots.status('local-a');
    return inFlight === 0 && queued === 0;
  });
});

test("a client's rate is one over all workers, request by request", async () => {
  const clock = new TestClock();
  const rate = new RateLimit(() => ({ perSecond: 30, burst: 60 }), clock);
  const gates = Array.from({ length: 3 }, () => {
    const [parent, worker] = links();
    serveRateLimit(rate, parent);
    return remoteRateLimit(worker);
  });
  const waits = await Promise.all(Array.from({ length: 81 }, (_, n) => gates[n % 3]?.take('10.0.0.1')));
  assert.equal(waits.filter((wait) => wait === null).length, 60);
  assert.equal(waits.filter((wait) => wait === 1).length, 21);
  assert.equal(await gates[0]?.take('10.0.0.2'), null, 'another client has its own');
});

test('a configuration arrives unchanged, with amounts and secrets, and is immutable', () => {
  const text = JSON.stringify({
    exchange: { usd_krw: 1400, margin_percent: 3 },
    providers: [
      {
        slug: 'up',
        name: 'Up',
        dialect: 'openai',
        base_url: 'http://127.0.0.1:1/v1',
        api_key: 'the-key',
        headers: { 'x-a': 'the-header' },
      },
    ],
    models: [
      {
        id: 'a/b',
        context_length: 8,
        price: { prompt: 0.013007, completion: 2, per: 'token', confirm: true },
        candidates: [{ provider: 'up', model: 'x' }],
      },
    ],
  });
  const config = configOf(text);
  const arrived = decodeConfig(encodeConfig(config));
  assert.deepEqual(arrived, config);
  assert.equal(arrived.providers[0]?.apiKey?.reveal(), 'the-key');
  assert.equal(arrived.providers[0]?.headers['x-a']?.reveal(), 'the-header');
  assert.equal(typeof arrived.models[0]?.candidates[0]?.price.prompt, 'bigint');
  assert.ok(Object.isFrozen(arrived.models[0]?.candidates));
});

test('series of several workers are one metric, each with its worker', async () => {
  const metricsWith = (value: number): Promise<readonly MetricData[]> => {
    const registry = new Registry();
    addCounter(registry, { name: 'naru_requests_total', help: 'Requests.', labelNames: ['route'] }, () => [
      { labels: { route: '/x' }, value },
    ]);
    return readRegistry(registry);
  };
  const lists = metricsOf([
    { worker: 1, response: await metricsWith(3) },
    { worker: 3, response: await metricsWith(4) },
  ]);
  const { types, series, value } = parseExposition(await renderPage(lists));
  assert.deepEqual([...types], [['naru_requests_total', 'counter']]);
  assert.equal(series.length, 2);
  assert.equal(value('naru_requests_total', { route: '/x', worker: '1' }), 3);
  assert.equal(value('naru_requests_total', { route: '/x', worker: '3' }), 4);
  assert.deepEqual(
    rowsOf([
      { worker: 1, response: [{ candidate: 'a' }, { candidate: 'b' }] },
      { worker: 2, response: [{ candidate: 'a' }] },
    ]).map(({ worker, candidate }) => `${candidate}${worker}`),
    ['a1', 'a2', 'b1'],
  );
});
