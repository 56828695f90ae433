/** The time limits of one candidate, one request and one response (spec:errors/8). */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Timer } from '../../src/time/clock.ts';
import {
  startTestGateway,
  type TestAccount,
  type TestGateway,
  type TestResponse,
} from '../harness/gateway.ts';
import { ledgerOf } from '../harness/read-ledger.ts';
import { assertBrokenStream, assertError } from '../harness/response-rules.ts';
import { eventsOf } from '../harness/stream.ts';
import { TestClock } from '../harness/test-clock.ts';
import { scaledLimit } from '../harness/time-limit.ts';
import { gate, reply, startUpstream, type Upstream } from '../harness/upstream.ts';

const messages = [{ role: 'user', content: 'hi' }];

interface World {
  readonly naru: TestGateway;
  readonly account: TestAccount;
  readonly silent: Upstream;
  readonly good: Upstream;
  send(body?: object): Promise<TestResponse>;
  close(): Promise<void>;
}

/** Counts the timers that are set, by their length. */
class CountingClock extends TestClock {
  readonly timersOf = new Map<number, number>();

  override after(delayMs: number, task: () => void): Timer {
    this.timersOf.set(delayMs, (this.timersOf.get(delayMs) ?? 0) + 1);
    return super.after(delayMs, task);
  }
}

async function openWorld(
  limits: object,
  silentProvider: object = {},
  clock: TestClock = new TestClock(),
): Promise<World> {
  const [silent, good] = await Promise.all([startUpstream(), startUpstream()]);
  const provider = { dialect: 'openai', api_key: 'k' };
  const naru = await startTestGateway({
    clock,
    config: {
      limits,
      providers: [
        { slug: 'silent', base_url: silent.url, ...provider, ...silentProvider },
        { slug: 'good', base_url: good.url, ...provider },
      ],
      models: [
        ['pair', 'silent', 'good'],
        ['alone', 'silent'],
      ].map(([id, ...slugs]) => ({
        id: `test/${id}`,
        name: id,
        context_length: 32_768,
        price: { prompt: 1, completion: 2, currency: 'KRW', per: 'token', confirm: true },
        candidates: slugs.map((slug) => ({ provider: slug, model: 'm' })),
      })) as object,
    },
  });
  const account = await naru.account({ credit: '1000000' });
  silent.always(reply.hang());
  return {
    naru,
    account,
    silent,
    good,
    send: (body = {}) => {
      naru.gateway.health.keepOnly(new Set());
      return naru.send('POST', '/chat/completions', {
        key: account.key,
        body: { model: 'test/pair', messages, ...body },
      });
    },
    async close() {
      await naru.close();
      await Promise.all([silent.close(), good.close()]);
    },
  };
}

describe('while another candidate is left', () => {
  // An upstream that answers at once needs longer for it on a busy machine.
  const [streamMs, wholeMs] = [scaledLimit(200), scaledLimit(600)];
  let world: World;
  before(async () => {
    world = await openWorld({
      upstream_timeout_ms: 60_000,
      fallback_stream_ms: streamMs,
      fallback_whole_ms: wholeMs,
      stream_idle_timeout_ms: 30_000,
    });
  });
  after(() => world.close());

  test('a silent candidate is dropped after the default first-byte limit, and the next one responds', async () => {
    for (const [stream, limitMs] of [
      [true, streamMs],
      [false, wholeMs],
    ] as const) {
      const startMs = performance.now();
      const response = await world.send({ stream });
      const tookMs = performance.now() - startMs;
      assert.equal(response.status, 200, response.text);
      assert.equal(response.headers.get('x-service-provider'), 'good');
      assert.ok(tookMs >= limitMs - 5 && tookMs < 20_000, `${tookMs} ms`);
      await world.naru.settled();
      const { records } = await ledgerOf(world.naru, world.account);
      assert.deepEqual(
        records
          .at(-1)
          .provider_responses.map((each: Record<string, unknown>) => [each['status'], each['failure']]),
        [
          [null, 'timed_out'],
          [200, undefined],
        ],
      );
    }
  });

  test('the last candidate has the rest of the budget', async () => {
    const barrier = gate();
    world.silent.next(reply.chat('late but there').pauseAt(0, barrier));
    const reached = world.silent.request(world.silent.requests.length + 1);
    const request = world.send({ model: 'test/alone' });
    await reached;
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    barrier.open();
    assert.equal((await request).status, 200);
  });

  test('the limit applies up to the first byte: a candidate that has started is not dropped', async () => {
    for (const point of ['head', -10] as const)
      for (const stream of [true, false]) {
        const hold = gate();
        world.silent.next(reply.chat('it has begun').pauseAt(point, hold));
        const sent = world.send({ stream });
        // A candidate that was dropped never gets there.
        await Promise.race([hold.reached, sent]);
        await new Promise((resolve) => setTimeout(resolve, 1.5 * wholeMs));
        hold.open();
        const response = await sent;
        assert.equal(response.headers.get('x-service-provider'), 'silent', `${point} ${stream}`);
      }
  });

  test('a candidate with slow recent responses has four times its p99', async () => {
    world.naru.gateway.health.keepOnly(new Set());
    world.naru.gateway.health.firstByte('silent/m', true, 400);
    const startMs = performance.now();
    const response = await world.naru.send('POST', '/chat/completions', {
      key: world.account.key,
      body: { model: 'test/pair', messages, stream: true },
    });
    assert.equal(response.headers.get('x-service-provider'), 'good');
    const tookMs = performance.now() - startMs;
    assert.ok(tookMs >= 4 * 400 * 0.95 && tookMs < 20_000, `${tookMs} ms`);
  });
});

test("a provider's configured limit replaces the default, whether higher or lower", async () => {
  const world = await openWorld(
    { upstream_timeout_ms: 60_000, fallback_stream_ms: 100, fallback_whole_ms: 100 },
    { first_byte_timeout_ms: 700 },
  );
  try {
    const startMs = performance.now();
    assert.equal((await world.send()).headers.get('x-service-provider'), 'good');
    assert.ok(performance.now() - startMs >= 695);
    const alone = assertError(await world.send({ model: 'test/alone' }), 408, 'timeout');
    assert.equal(alone['timeout_sec'], 0.7);
  } finally {
    await world.close();
  }
});

test('the budget applies up to the first byte: a whole response that has started is not cut', async () => {
  const world = await openWorld({ upstream_timeout_ms: 3_000 });
  try {
    const hold = gate();
    world.silent.next(reply.chat('it has begun').pauseAt(-10, hold));
    const sent = world.send({ model: 'test/alone' });
    await hold.reached;
    await new Promise((resolve) => setTimeout(resolve, 3_200));
    hold.open();
    const response = await sent;
    assert.equal(response.status, 200, response.text);
  } finally {
    await world.close();
  }
});

describe('the total time of a request', () => {
  const clock = new CountingClock();
  let world: World;
  before(async () => {
    const limits = {
      upstream_timeout_ms: 60_000,
      total_timeout_ms: 800,
      stream_idle_timeout_ms: 30_000,
      fallback_whole_ms: 500,
    };
    world = await openWorld(limits, {}, clock);
  });
  after(() => world.close());

  test('ends a response that still streams, with its reason', async () => {
    const slow = (bytes: number): ReturnType<typeof reply.chat> =>
      reply.chat('x '.repeat(500)).drip(bytes, 30);
    world.silent.next(slow(1_000));
    const streamed = await world.send({ stream: true });
    const error = assertBrokenStream(eventsOf(streamed.text), '408 timeout');
    assert.equal(error['metadata'].timeout_sec, 0.8);
    assert.match(error['message'], /total time limit/);
    world.silent.next(slow(20));
    const whole = await world.send();
    assert.equal(assertError(whole, 408, 'timeout')['timeout_sec'], 0.8);
    assert.match(whole.json.error.message, /total time limit/);
  });

  test('runs once, not for each candidate', async () => {
    const count = world.good.requests.length;
    world.good.next(reply.hang());
    clock.timersOf.clear();
    const startMs = performance.now();
    const response = await world.send();
    const tookMs = performance.now() - startMs;
    assert.equal(world.good.requests.length, count + 1);
    assert.equal(assertError(response, 408, 'timeout')['timeout_sec'], 0.8);
    assert.ok(tookMs >= 795 && tookMs < 20_000, `${tookMs} ms`);
    assert.equal(clock.timersOf.get(800), 1, 'the second candidate gets what the first one left');
  });
});

test('a response that falls silent names the idle limit, also when it is not streamed', async () => {
  const world = await openWorld({ upstream_timeout_ms: 60_000, stream_idle_timeout_ms: 300 });
  try {
    for (const stream of [true, false]) {
      world.silent.next(reply.chat('a b c').cutAt(stream ? -300 : -10, 'never'));
      const response = await world.send({ model: 'test/alone', stream });
      const metadata = stream
        ? assertBrokenStream(eventsOf(response.text), '408 timeout')['metadata']
        : assertError(response, 408, 'timeout');
      assert.equal(metadata.timeout_sec, 0.3);
    }
  } finally {
    await world.close();
  }
});

test('an attempt in flight when the client disconnects is in the record', async () => {
  const world = await openWorld({ upstream_timeout_ms: 60_000 });
  try {
    for (const [act, status] of [
      [reply.hang(), null],
      [reply.whole('never complete').cutAt(-5, 'never'), 200],
    ] as const) {
      const before = (await ledgerOf(world.naru, world.account)).records.length;
      world.silent.next(act);
      const reached = world.silent.request(world.silent.requests.length + 1);
      const leave = new AbortController();
      const body = { model: 'test/alone', messages };
      const lost = world.naru.send('POST', '/chat/completions', {
        key: world.account.key,
        body,
        signal: leave.signal,
      });
      const received = await reached;
      if (status !== null) await new Promise((resolve) => setTimeout(resolve, 300));
      leave.abort();
      await assert.rejects(lost);
      await received.aborted;
      let ledger = await ledgerOf(world.naru, world.account);
      while (ledger.records.length === before) ledger = await ledgerOf(world.naru, world.account);
      const record = ledger.records.at(-1);
      assert.equal(record.cancelled, true);
      assert.deepEqual(
        record.provider_responses.map((each: Record<string, unknown>) => [each['status'], each['failure']]),
        [[status, 'cancelled']],
      );
    }
  } finally {
    await world.close();
  }
});
