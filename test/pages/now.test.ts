/** What the console shows of the service as it is: the page Now. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { insertPrice, latestPrices } from '../../src/catalogue/prices-sql.ts';
import type { SourceUsage } from '../../src/generations/analytics/usage-sql.ts';
import { marginBySource, marginOf } from '../../src/operations/margin.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { PageBrowser, TestSessions } from '../harness/pages.ts';
import { scaledLimit } from '../harness/time-limit.ts';
import { eventually } from '../harness/until.ts';
import { gate, reply, startUpstream, type Upstream, usage } from '../harness/upstream.ts';

const sessions = new TestSessions();
const dollars = { prompt: 1000, completion: 2000, currency: 'USD', per: '1M', confirm: true };
const stated = {
  ...{ prompt: 9, completion: 9, per: 'token', confirm: true },
  upstream_price: {
    prompt: 2000,
    completion: 4000,
    cache_read: 500,
    request: 0.25,
    currency: 'CNY',
    rate: 200,
    per: '1M',
  },
};
let upstream: Upstream;
let gateway: TestGateway;
let account: TestAccount;
let origin = '';
let browser: PageBrowser;

before(async () => {
  upstream = await startUpstream();
  upstream.always(reply.chat('hello there', { usage: usage(10, 5) }));
  gateway = await startTestGateway({
    sessions,
    config: { exchange: { usd_krw: 1000, margin_percent: 25 } },
    models: [
      { id: 'test/usd', upstreams: [upstream.url], model: { price: dollars } },
      { id: 'test/won', upstreams: [upstream.url] },
      { id: 'test/stated', upstreams: [upstream.url], model: { price: stated } },
    ],
  });
  account = await gateway.account({ credit: '1000000' });
  origin = `http://127.0.0.1:${gateway.gateway.admin.port}`;
  browser = new PageBrowser(origin, 'console', sessions.operator('viewer'));
});
after(async () => {
  await gateway?.close();
  await upstream?.close();
});

function call(model: string, stream = false) {
  return gateway.send('POST', '/chat/completions', {
    key: account.key,
    body: { model, stream, messages: [{ role: 'user', content: 'question' }] },
  });
}

// pages:A1
test('a stream counts while it is open; its first token, its failure and its cost are shown', async () => {
  assert.equal((await call('test/usd')).status, 200);
  assert.equal((await call('test/won')).status, 200);
  const held = gate();
  const answer = reply.chat('hello there', { usage: usage(10, 5) });
  const bytes = answer.bytes({ stream: true });
  const second = bytes.indexOf('data:', bytes.indexOf('hello'));
  upstream.next(answer.cutAt(second + 4, 'rst').pauseAt(second, held));
  const streaming = call('test/usd', true);
  await held.reached;
  await eventually('the stream is open', scaledLimit(20_000), async () =>
    (await browser.get('/now')).open_streams === 1 ? true : null,
  );
  held.open();
  await streaming;
  upstream.next(reply.status(500));
  assert.equal((await call('test/won')).status, 502);
  await gateway.settled();

  const now = await browser.get('/now');
  assert.deepEqual(now.processes, { responding: 1, expected: 1 });
  assert.equal(now.open_streams, 0);
  assert.equal(now.open_requests, 0);
  assert.equal(now.backlog, 0);
  assert.ok(now.settlement_lag.count >= 3);
  assert.deepEqual(now.errors, [{ type: 'provider_error', count: 2 }]);
  const [first] = now.first_tokens;
  assert.deepEqual([first.model, first.provider, first.count], ['test/usd', 'up1', 1]);
  assert.ok(first.p50_ms > 0 && first.p95_ms >= first.p50_ms);
  const candidate = now.candidates.find(({ candidate: label }: { candidate: string }) =>
    label.endsWith('upstream-usd'),
  );
  assert.deepEqual([candidate.circuit, candidate.worker], ['closed', null]);

  // 10 × 1.25 + 5 × 2.5 won: the upstream charges 10 × 1 + 5 × 2. In won its price is not known.
  const money = await browser.get('/now/money');
  assert.equal(money.billed_micro, '45000000');
  assert.equal(money.unknown_micro, '20000000');
  assert.equal(money.upstream_micro, '20000000');
  assert.equal(money.margin_micro, '5000000');
  assert.equal(money.broken.count, 1);
  assert.ok(BigInt(money.broken.upstream_micro) > 0n, 'the prompt at least');
});

// pages:A1
test('watchers of the page get the figures live, and those who join at once', async () => {
  const abort = new AbortController();
  const watch = async (): Promise<string> => {
    const token = sessions.operator('viewer');
    const response = await fetch(`${origin}/console/api/now/live`, {
      headers: { cookie: `naru_console=${token}` },
      signal: abort.signal,
    });
    assert.equal(response.status, 200);
    let text = '';
    for await (const piece of response.body ?? []) {
      text += Buffer.from(piece).toString();
      if (/event: now\n/.test(text) && /event: money\n/.test(text)) break;
    }
    return text;
  };
  for (const text of await Promise.all([watch(), watch(), watch()]))
    assert.equal(JSON.parse(/event: now\ndata: (.*)/.exec(text)?.[1] ?? '').processes.responding, 1);
  abort.abort();
});

// spec:money/2.9
test('the margin of usage is that of the price that billed it, stated or of dollars: own slots cost nothing', async () => {
  const published = await latestPrices(gateway.database);
  const priceOf = (model: string) => published.find((price) => price.model === model) ?? assert.fail(model);
  const [dollar, won, beside] = ['test/usd', 'test/won', 'test/stated'].map((model) =>
    BigInt(priceOf(model).id),
  );
  const { id: _, stated: before, ...later } = priceOf('test/usd');
  const latest = await insertPrice(gateway.database, {
    ...later,
    stated: { ...before, marginPercent: '150' },
  });
  const row = (of: Partial<SourceUsage>): SourceUsage => ({
    model: 'test/usd',
    provider: 'Upstream 1',
    priceVersion: dollar ?? 0n,
    isBroken: false,
    requests: 1n,
    failures: 0n,
    cost: 0n,
    promptTokens: 0n,
    completionTokens: 0n,
    reasoningTokens: 0n,
    cachedTokens: 0n,
    ...of,
  });
  const of = async (...rows: readonly SourceUsage[]) =>
    marginOf(await marginBySource(gateway.database, rows));
  assert.deepEqual(await of(row({ cost: 125n }), row({ provider: 'Naru', cost: 7n })), {
    billed: 132n,
    billedAtUnknownCost: 0n,
    upstreamCost: 100n,
    broken: { count: 0n, upstreamCost: 0n, countAtUnknownCost: 0n },
  });
  assert.equal((await of(row({ priceVersion: BigInt(latest), cost: 125n }))).upstreamCost, 50n);
  for (const priceVersion of [won, 0n])
    assert.equal((await of(row({ priceVersion: priceVersion ?? 0n, cost: 9n }))).billedAtUnknownCost, 9n);
  const { broken } = await of(
    row({ isBroken: true, promptTokens: 10n }),
    row({ priceVersion: 0n, isBroken: true }),
  );
  assert.deepEqual(broken, { count: 2n, upstreamCost: 10_000_000n, countAtUnknownCost: 1n });
  // 6 of 10 prompt tokens, 4 from the cache, 5 of completion, 2 requests; also where it was not billed.
  for (const isBroken of [false, true]) {
    const tokens = { promptTokens: 10n, cachedTokens: 4n, completionTokens: 5n };
    const [found] = await marginBySource(gateway.database, [
      row({ priceVersion: beside ?? 0n, requests: 2n, ...tokens, isBroken }),
    ]);
    assert.equal(found?.upstream, (200n * (6n * 2000n + 4n * 500n + 5n * 4000n)) / 1n + 2n * 50_000_000n);
  }
});
