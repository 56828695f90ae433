/** The parts of each attempt of a request, measured on upstreams that are slow in one part each. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestAccount, type TestGateway, testPrice } from '../harness/gateway.ts';
import { PageBrowser, TestSessions } from '../harness/pages.ts';
import { until } from '../harness/until.ts';
import { gate, reply, startUpstream, type Upstream } from '../harness/upstream.ts';

/** How slow each part is. A busy machine notices the end of the part before it late. */
const slowMs = 500;
const leastMs = 200;

const sessions = new TestSessions();
/** Accepts connections and never answers their TLS handshake. */
const silent = createServer(() => {});
let engine: Upstream;
let upstream: Upstream;
let gateway: TestGateway;
let account: TestAccount;
let owner: PageBrowser;

before(async () => {
  engine = await startUpstream();
  upstream = await startUpstream();
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const address = silent.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const provider = { dialect: 'openai', api_key: 'provider-secret-0123456789abcdef' };
  const model = { context_length: 32_768, max_completion_tokens: 32_768, price: testPrice };
  gateway = await startTestGateway({
    sessions,
    config: {
      slots: [
        {
          name: 'lane',
          external: { base_url: engine.url.replace(/\/v1$/, ''), health_path: '/v1/models' },
          max_concurrency: 1,
        },
      ],
      providers: [
        { ...provider, slug: 'slow', name: 'Slow', base_url: upstream.url },
        {
          ...provider,
          slug: 'silent',
          name: 'Silent',
          base_url: `https://127.0.0.1:${port}/v1`,
          connect_timeout_ms: slowMs,
        },
      ],
      models: [
        { ...model, id: 'test/lane', name: 'Test: lane', candidates: [{ slot: 'lane' }] },
        {
          ...model,
          id: 'test/model',
          name: 'Test: model',
          candidates: [
            { provider: 'silent', model: 'upstream-model' },
            { provider: 'slow', model: 'upstream-model' },
          ],
        },
      ],
    } as unknown as Record<string, object>,
  });
  account = await gateway.account({ credit: '1000000' });
  owner = new PageBrowser(gateway.origin, 'dashboard', sessions.owner(account.accountId));
});
after(async () => {
  await gateway?.close();
  await engine?.close();
  await upstream?.close();
  silent.close();
});

async function call(model: string, stream: boolean): Promise<string> {
  const response = await gateway.send('POST', '/chat/completions', {
    key: account.key,
    body: { model, stream, messages: [{ role: 'user', content: 'question' }] },
  });
  assert.equal(response.status, 200, response.text);
  return response.headers.get('x-service-generation-id') ?? '';
}

function isSlow(ms: number | null | undefined): boolean {
  return ms != null && ms >= leastMs;
}

// pages:U3d
test('each attempt has the time of each of its parts, and the parts fill the request', async () => {
  const spoken = reply.chat('two words');
  const secondWord = spoken.bytes({ stream: true }).indexOf('words');
  upstream.next(spoken.waitAt(0, slowMs).waitAt('head', slowMs).waitAt(secondWord, slowMs));
  const id = await call('test/model', true);
  await gateway.settled();
  const { attempts, listing, record } = await owner.get(`/generations/${id}`);
  const [failed, responded] = attempts;
  assert.deepEqual(
    [failed.endpoint, failed.failure, responded.endpoint],
    ['silent/upstream-model', 'unreachable', 'slow/upstream-model'],
  );
  assert.ok(isSlow(failed.phases.connect_ms), JSON.stringify(failed));
  // A busy machine may take a millisecond between two looks at the clock.
  assert.ok(failed.phases.queue_ms < leastMs, JSON.stringify(failed));
  assert.deepEqual([failed.phases.first_byte_ms, failed.phases.first_token_ms], [null, null]);
  assert.equal(failed.phases.stream_ms, null);
  const { queue_ms, connect_ms, first_byte_ms, first_token_ms, stream_ms } = responded.phases;
  assert.ok(queue_ms < leastMs, JSON.stringify(responded));
  assert.ok(isSlow(first_byte_ms) && isSlow(first_token_ms) && isSlow(stream_ms), JSON.stringify(responded));
  assert.ok(responded.starts_at_ms >= failed.starts_at_ms + failed.latency_ms - 1);
  assert.equal(
    responded.starts_at_ms + queue_ms + connect_ms + first_byte_ms + first_token_ms + stream_ms,
    listing.generation_ms,
  );
  // The public record is what it was.
  assert.ok(record.provider_responses.every((one: object) => !('at' in one)));
});

// pages:U3d
test('the wait for a lane of a slot is a part of its attempt', async () => {
  const barrier = gate();
  const chats = [reply.chat('first').pauseAt(0, barrier)];
  engine.respond(({ path }) =>
    path.startsWith('/v1/chat') ? (chats.shift() ?? reply.chat('second')) : reply.json({ data: [] }),
  );
  const first = call('test/lane', false);
  await barrier.reached;
  const second = call('test/lane', false);
  await until('the queue of the slot', () => gateway.gateway.slots.status('lane').queued === 1);
  setTimeout(() => barrier.open(), slowMs);
  const ids = await Promise.all([first, second]);
  await gateway.settled();
  const [one, two] = await Promise.all(ids.map((id) => owner.get(`/generations/${id}`)));
  assert.ok(isSlow(two.attempts[0].phases.queue_ms), JSON.stringify(two.attempts));
  assert.equal(two.attempts[0].phases.first_token_ms, null);
  assert.ok(isSlow(one.attempts[0].phases.first_byte_ms), JSON.stringify(one.attempts));
});
