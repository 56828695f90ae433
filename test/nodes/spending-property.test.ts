/*
 * docs/spec/money.md, the queue of requests that wait for credit: what holds over two, three and
 * four nodes, for any requests.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { krwOfMicro } from '../../src/money/krw.ts';
import { startTestGateway, type TestGateway, type TestResponse } from '../harness/gateway.ts';
import { byTier } from '../harness/tier.ts';
import { reply, startUpstream, type Upstream, usage } from '../harness/upstream.ts';
import { Random } from '../sim/random.ts';

const requests = 40;
const promptTokens = 10;

let upstream: Upstream;
const nodes: TestGateway[] = [];

before(async () => {
  upstream = await startUpstream();
});
after(async () => {
  for (const node of nodes.toReversed()) await node.close();
  await upstream?.close();
});

/** Starts nodes on one database until there are so many. */
async function serveWith(count: number): Promise<void> {
  while (nodes.length < count) {
    const [first] = nodes;
    nodes.push(
      await startTestGateway({
        models: [{ id: 'test/echo', upstreams: [upstream.url] }],
        config: { limits: { debt_floor_krw: 0 }, edge: { rate_limit: 'external' } },
        ...(first && { beside: first }),
      }),
    );
  }
}

const first = (): TestGateway => nodes[0] ?? assert.fail('no node');

/** 1 won for each prompt token and 2 for each of the completion. */
const costOf = (completionTokens: number): number => promptTokens + 2 * completionTokens;

interface Seen {
  refused: number;
  left: number;
  waited: number;
}

async function run(seed: number, seen: Seen): Promise<void> {
  const random = new Random(seed);
  const limit = random.inThousand(400) ? random.int(200, 500) : null;
  const { key, accountId, hash } = await first().account({
    credit: String(random.int(100, 500)),
    ...(limit !== null && { limit: String(limit) }),
  });
  let largest = 0;
  // Arrivals are drawn before anything is sent: the interleaving of the nodes is the operating
  // system's.
  const plans = Array.from({ length: requests }, () => {
    const maxTokens = random.pick([5, 5, 20, 100]);
    const completion = random.int(1, maxTokens);
    largest = Math.max(largest, costOf(completion));
    return {
      node: random.pick(nodes),
      maxTokens,
      completion,
      atMs: random.int(0, 400),
      responseMs: random.int(0, 40),
      leavesMs: random.inThousand(100) ? random.int(1, 80) : null,
    };
  });
  upstream.respond(({ body }) => {
    const plan = plans[Number(body['seed'])] ?? assert.fail('unknown seed');
    return reply
      .chat('hello there', { usage: usage(promptTokens, plan.completion) })
      .waitAt(0, plan.responseMs);
  });
  let isOver = false;
  const watching = (async () => {
    // Each look collects all metrics of a node.
    for (; !isOver; await pause(byTier(20, 5)))
      for (const waiting of await Promise.all(nodes.map(waitingOn))) seen.waited += waiting;
  })();
  const topUps = Array.from({ length: random.int(0, 3) }, async () => {
    const won = random.int(20, 200);
    await pause(random.int(0, 500));
    const amount = krwOfMicro(BigInt(won) * 1_000_000n);
    const grant = { accountId, kind: 'topup', expiresAtMs: null, idempotencyKey: null, memo: null } as const;
    await first().operator.grantCredit({ ...grant, amount });
  });
  const responses = await Promise.all(
    plans.map(async ({ node, maxTokens, atMs, leavesMs }, n) => {
      await pause(atMs);
      const body = {
        model: 'test/echo',
        max_tokens: maxTokens,
        seed: n,
        messages: [{ role: 'user', content: 'hi' }],
      };
      return send(node, key, body, leavesMs);
    }),
  );
  await Promise.all(topUps);
  isOver = true;
  await watching;
  await Promise.all(nodes.map((node) => node.settled()));

  for (const response of responses) {
    if (response === null) seen.left += 1;
    else if (response.status === 500) {
      // A database that is slow on a busy machine counts as away; the response names a time.
      assert.ok(response.json.error.metadata.retry_after_sec > 0, response.text);
    } else if (response.status !== 200) {
      seen.refused += 1;
      assert.equal(response.status, 402, response.text);
      const { balance_krw: balance, usage_krw: used } = response.json.error.metadata;
      if (balance !== undefined) assert.ok(Number(balance) <= 0, `refused with ${balance} won left`);
      else assert.ok(limit !== null && Number(used) >= limit, `refused at ${used} of ${limit} won`);
    }
  }
  const account = (await first().operator.readAccount(accountId)) ?? assert.fail('no account');
  const balance = Number(account.credits - account.usage) / 1e6;
  assert.ok(balance >= -largest, `overspent by ${-balance} won, the largest request costs ${largest}`);
  const row = (await first().operator.readKey(hash)) ?? assert.fail('no key');
  const used = Number((await first().operator.readSpend(row)).total) / 1e6;
  if (limit !== null) assert.ok(used <= limit + largest, `${used} of ${limit} won, the largest ${largest}`);
  const reported = responses.reduce(
    (sum, response) => sum + (response?.status === 200 ? response.json.usage.cost : 0),
    0,
  );
  assert.ok(used >= reported, `${reported} won were reported, ${used} billed`);
  if (!responses.includes(null)) assert.equal(used, reported);
  assert.deepEqual(
    await Promise.all(nodes.map(waitingOn)),
    nodes.map(() => 0),
  );
}

function waitingOn(node: TestGateway): Promise<number> {
  return node.metric('naru_requests_waiting_for_credit');
}

/** Null: the client disconnected before its response. */
async function send(
  node: TestGateway,
  key: string,
  body: object,
  leavesMs: number | null,
): Promise<TestResponse | null> {
  if (leavesMs === null) return node.send('POST', '/chat/completions', { key, body });
  const sent = fetch(`${node.url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(leavesMs),
  });
  await sent.then((response) => response.text()).catch(() => {});
  return null;
}

for (const count of byTier([3], [2, 3, 4])) {
  test(`for any requests to ${count} nodes: all end, at most one request is overspent, and only settled figures reject`, async (t) => {
    await serveWith(count);
    const seen: Seen = { refused: 0, left: 0, waited: 0 };
    for (let seed = 100 * count; seed < 100 * count + byTier(3, 6); seed += 1)
      await run(seed, seen).catch((error: Error) => {
        error.message = `seed ${seed}: ${error.message}`;
        throw error;
      });
    t.diagnostic(JSON.stringify(seen));
    assert.ok(
      seen.waited > byTier(5, 50) && seen.refused > byTier(1, 5) && seen.left > byTier(0, 2),
      JSON.stringify(seen),
    );
    assert.deepEqual((await first().operator.verifyLedger()).differences, []);
  });
}
