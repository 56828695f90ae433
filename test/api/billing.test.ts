import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { expireCredit } from '../../src/ledger/credit.ts';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { ledgerOf, numberOf } from '../harness/read-ledger.ts';
import { assertChatResponse, assertCompleteStream } from '../harness/response-rules.ts';
import { eventsOf } from '../harness/stream.ts';
import { byTier } from '../harness/tier.ts';
import { oddUsages, reply, startUpstream, type Upstream, usage } from '../harness/upstream.ts';
import { judge } from '../providers/judge.ts';

const messages = [{ role: 'user', content: 'What is a ferry?' }];
let upstream: Upstream;
let naru: TestGateway;

before(async () => {
  upstream = await startUpstream();
  naru = await startTestGateway({
    models: [
      { id: 'test/echo', upstreams: [upstream.url] },
      // 12 decimals a token, so that nearly every sum has to be rounded.
      {
        id: 'test/fine',
        upstreams: [upstream.url],
        model: {
          price: {
            prompt: '0.123456789012',
            completion: '0.000000499999',
            request: '0.000000000001',
            per: 'token',
          },
        },
      },
      {
        id: 'test/cached',
        upstreams: [upstream.url],
        model: {
          price: {
            prompt: 1,
            completion: 2,
            cache_read: '0.1',
            cache_write: '1.25',
            cache_write_1h: 2,
            tiers: [
              { tier: 'priority', prompt: 3, completion: 6, cache_write_1h: 5 },
              { tier: 'flex', prompt: '0.5', completion: 1, cache_write_1h: 1 },
            ],
            per: 'token',
            confirm: true,
          },
        },
      },
    ],
  });
});
after(async () => {
  await naru?.close();
  await upstream?.close();
});

/** The usage of a JSON or streamed response. */
async function usageOf(key: string, body: object) {
  const response = await naru.send('POST', '/chat/completions', {
    key,
    body: { model: 'test/echo', messages, ...body },
  });
  assert.equal(response.status, 200, response.text);
  if (response.headers.get('content-type')?.startsWith('text/event-stream'))
    return assertCompleteStream(eventsOf(response.text))['usage'];
  assertChatResponse(response.json);
  return response.json.usage;
}

// spec:conformance/63,72,74,185
test('the response, the ledger, the key, the credits and the record agree to the micro-won', async () => {
  const account = await naru.account({ credit: '1000000' });
  let total = 0n;
  for (const [n, model] of ['test/fine', 'test/echo', 'test/cached', 'test/fine'].entries()) {
    for (const stream of [false, true]) {
      upstream.next(reply.chat('A ferry is a ship.', { usage: usage(7 + 3 * n, 5 + n) }));
      const response = await naru.send('POST', '/chat/completions', {
        key: account.key,
        body: { model, messages, stream },
      });
      const reportedUsage = stream ? eventsOf(response.text).at(-2)?.json.usage : response.json.usage;
      const ledger = await ledgerOf(naru, account);
      const debit = ledger.debits.at(-1) ?? '';
      assert.equal(reportedUsage.cost, numberOf(debit));
      total += BigInt(debit.replace('.', ''));
      assert.equal(BigInt(ledger.usage.replace('.', '')), total);
      assert.equal(ledger.keyUsage, ledger.usage);
      assert.equal(ledger.records.at(-1).cost_krw, debit);
      const { data } = (await naru.send('GET', '/credits', { key: account.key })).json;
      assert.deepEqual(data, { total_credits: 1_000_000, total_usage: numberOf(ledger.usage) });
      assert.equal(
        (await naru.send('GET', '/key', { key: account.key })).json.data.usage,
        numberOf(ledger.usage),
      );
      const record = (
        await naru.send('GET', `/generation?id=${response.headers.get('x-service-generation-id')}`, {
          key: account.key,
        })
      ).json.data;
      assert.equal(record.total_cost, reportedUsage.cost);
      assert.equal(record.usage, reportedUsage.cost);
    }
  }
  const { differences } = await naru.operator.verifyLedger();
  assert.deepEqual(differences, []);
});

// spec:money/1.4
test('a cost is summed exactly and rounded once, half up', async () => {
  const account = await naru.account({ credit: '1000000' });
  // 10 × 0.123456789012 + 5 × 0.000000499999 + 0.000000000001 = 1.234570390116
  upstream.next(reply.chat('A ferry is a ship.', { usage: usage(10, 5) }));
  assert.equal((await usageOf(account.key, { model: 'test/fine' })).cost, 1.23457);
  assert.deepEqual((await ledgerOf(naru, account)).debits, ['1.234570']);
});

// spec:money/2.2
test('cached tokens cost the cache price and count as prompt tokens', async () => {
  const account = await naru.account({ credit: '1000000' });
  upstream.next(
    reply.chat('ship', {
      usage: usage(50, 5, { prompt_tokens_details: { cached_tokens: 20, cache_write_tokens: 10 } }),
    }),
  );
  const output = await usageOf(account.key, { model: 'test/cached' });
  assert.equal(output.cost, 20 + 20 * 0.1 + 10 * 1.25 + 5 * 2);
  assert.equal(output.prompt_tokens_details.cached_tokens, 20);
  assert.equal(output.prompt_tokens_details.cache_write_tokens, 10);
});

// spec:money/2.8, spec:money/4.14, spec:money/4.15
test('the tier and the cache writes that an upstream reports decide the price', async () => {
  const account = await naru.account({ credit: '1000000' });
  const details = {
    cached_tokens: 20,
    cache_creation_tokens: 10,
    cache_creation_token_details: { ephemeral_5m_input_tokens: 4, ephemeral_1h_input_tokens: 6 },
  };
  const costs = {
    default: 20 + 20 * 0.1 + 4 * 1.25 + 6 * 2 + 10,
    priority: (20 + 20 + 4) * 3 + 6 * 5 + 5 * 6,
    flex: (20 + 20 + 4) * 0.5 + 6 + 5,
  };
  // What is requested decides nothing: an upstream may have no capacity in a tier.
  const reports = { priority: 'default', flex: 'priority', default: 'flex', auto: 'scale' } as const;
  for (const [requested, reported] of Object.entries(reports))
    for (const stream of [false, true]) {
      const usageOfTier = usage(50, 5, { prompt_tokens_details: details });
      upstream.next(reply.chat('ship', { usage: usageOfTier, over: { service_tier: reported } }));
      const body = { model: 'test/cached', service_tier: requested, stream };
      const { cost } = await usageOf(account.key, body);
      assert.equal(cost, reported === 'scale' ? costs.default : costs[reported], `${requested} ${reported}`);
      const sent = upstream.requests.at(-1);
      assert.equal(sent?.body['service_tier'], requested);
      assert.equal(judge('openai', sent?.raw.toString() ?? ''), null);
    }
  const [listed] = (await naru.send('GET', '/models/test/cached/endpoints')).json.data.endpoints;
  assert.deepEqual(
    [listed.pricing.input_cache_write_1h, listed.pricing.service_tiers.flex.prompt],
    ['2', '0.5'],
  );
  assert.deepEqual((await naru.operator.verifyLedger()).differences, []);
});

/** Five words: our own count of the completion is 5 or 6, of the prompt at most 20. */
const responseText = 'A ferry is a ship';

// spec:money/4.9
for (const [name, odd] of Object.entries(oddUsages)) {
  test(`usage that is ${name} is billed by the generated text`, async () => {
    const account = await naru.account({ credit: '1000000' });
    for (const stream of [false, true]) {
      upstream.next(reply.chat(responseText, { usage: odd }));
      const response = await usageOf(account.key, { stream });
      assert.ok(
        response.prompt_tokens >= 4 && response.prompt_tokens <= 20 * 1.5 + 64,
        `prompt ${response.prompt_tokens}`,
      );
      assert.ok(
        response.completion_tokens >= 5 && response.completion_tokens <= 6 * 1.5 + 64,
        `completion ${response.completion_tokens}`,
      );
      assert.equal(response.cost, response.prompt_tokens + 2 * response.completion_tokens);
      const { debits, records } = await ledgerOf(naru, account);
      assert.equal(numberOf(debits.at(-1) ?? ''), response.cost);
      const source =
        { absurd: 'rejected', beyondIntegers: 'rejected', contradictory: 'upstream' }[name] ?? 'counted';
      assert.equal(records.at(-1).usage_source, source);
    }
  });
}

// spec:money/4.8
test('reported usage is accepted up to one token per byte plus 64, and replaced by our count beyond that', async () => {
  const account = await naru.account({ credit: '1000000' });
  const most = Buffer.byteLength(responseText) + 64;
  upstream.next(reply.chat(responseText, { usage: usage(10, most) }));
  assert.equal((await usageOf(account.key, {})).completion_tokens, most);
  upstream.next(reply.chat(responseText, { usage: usage(10, most + 1) }));
  assert.equal((await usageOf(account.key, {})).completion_tokens, 5);
});

// spec:money/4.6
test('an empty completion without a finish reason is free', async () => {
  const account = await naru.account({ credit: '1000000' });
  upstream.next(
    reply.whole('', { finish: null, usage: usage(10, 0) }),
    reply.whole(null, { finish: null, usage: null }),
  );
  for (const _ of [1, 2]) assert.equal((await usageOf(account.key, {})).cost, 0);
  const { debits, records, usage: spent } = await ledgerOf(naru, account);
  assert.deepEqual(debits, []);
  assert.equal(spent, '0.000000');
  assert.equal(records.length, 2);
});

test('an empty completion with a finish reason costs its prompt', async () => {
  const account = await naru.account({ credit: '1000000' });
  upstream.next(reply.whole('', { finish: 'stop', usage: usage(10, 0) }));
  assert.equal((await usageOf(account.key, {})).cost, 10);
});

// spec:conformance/73,75,76,78
test('credits grow by grants, usage grows by charges, and neither ever decreases', async () => {
  const account = await naru.account({ credit: '1000' });
  const other = await naru.account({ credit: '50' });
  const second = await account.another();
  const read = async (key: string) => (await naru.send('GET', '/credits', { key })).json.data;
  upstream.next(reply.chat('ship', { usage: usage(10, 5) }));
  await usageOf(account.key, {});
  assert.deepEqual(await read(second.key), { total_credits: 1000, total_usage: 20 });
  await account.topUp('0.000001');
  await naru.operator.grantCredit({
    accountId: account.accountId,
    kind: 'bonus',
    amount: 500_000n as never,
    expiresAtMs: null,
    idempotencyKey: null,
    memo: null,
  });
  const endMs = performance.now() + 2000;
  let data = await read(second.key);
  while (data.total_credits !== 1000.500001 && performance.now() < endMs) data = await read(second.key);
  assert.deepEqual(data, { total_credits: 1000.500001, total_usage: 20 });
  await naru.operator.revokeKey(account.hash);
  assert.equal((await read(second.key)).total_usage, 20);
  assert.deepEqual(await read(other.key), { total_credits: 50, total_usage: 0 });
});

// spec:money/3.6
test('expired credit counts as used credit', async () => {
  const account = await naru.account({ credit: '100' });
  const expiresAtMs = naru.clock.now() + 3_600_000;
  await naru.operator.grantCredit({
    accountId: account.accountId,
    kind: 'bonus',
    amount: 7_000_000n as never,
    expiresAtMs,
    idempotencyKey: null,
    memo: null,
  });
  upstream.next(reply.chat('x', { usage: usage(1, 1) }));
  await usageOf(account.key, {});
  await naru.settled();
  await expireCredit(naru.database, expiresAtMs);
  const ledger = await ledgerOf(naru, account);
  // Three won were spent from the bonus, which expires first; four are lost.
  assert.equal(ledger.usage, '7.000000');
  assert.equal(ledger.credits, '107.000000');
  assert.deepEqual((await naru.operator.verifyLedger()).differences, []);
});

test('hundreds of concurrent responses are charged once each', async () => {
  const account = await naru.account({ credit: '1000000000' });
  upstream.always(reply.chat('ship', { usage: usage(10, 5) }));
  const each = byTier(5, 10);
  const worker = async (): Promise<void> => {
    for (let n = 0; n < each; n += 1) await usageOf(account.key, { stream: n % 2 === 0 });
  };
  await Promise.all(Array.from({ length: 40 }, worker));
  const { debits, usage: spent, keyUsage, records } = await ledgerOf(naru, account);
  assert.equal(debits.length, 40 * each);
  assert.equal(spent, `${800 * each}.000000`);
  assert.equal(keyUsage, spent);
  assert.equal(new Set(records.map((record) => record.id)).size, 40 * each);
});
