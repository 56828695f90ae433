import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { krwOfMicro } from '../../src/money/krw.ts';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { byTier } from '../harness/tier.ts';
import { scaledLimit } from '../harness/time-limit.ts';
import { until } from '../harness/until.ts';
import { gate, reply, startUpstream, type Upstream, usage } from '../harness/upstream.ts';

// Several nodes on one database, each a complete gateway with its own journal.

const models = (upstream: Upstream) => [{ id: 'test/echo', upstreams: [upstream.url] }];
const config = { limits: { debt_floor_krw: 0 } };
/** 20 won: 10 prompt tokens at 1 won, 5 completion tokens at 2. */
const costWon = 20;
/** The estimate of this prompt is above what it costs: bytes for tokens, and `max_tokens`. */
const body = {
  model: 'test/echo',
  max_tokens: 5,
  messages: [{ role: 'user', content: 'hello there, my friend' }],
};

let upstream: Upstream;
let nodes: TestGateway[] = [];

before(async () => {
  upstream = await startUpstream();
  upstream.always(reply.chat('hello there', { usage: usage(10, 5) }));
  const first = await startTestGateway({ models: models(upstream), config });
  nodes = [first];
  for (let n = 2; n <= 3; n += 1)
    nodes.push(await startTestGateway({ models: models(upstream), config, beside: first }));
});
after(async () => {
  for (const node of nodes.toReversed()) await node.close();
  await upstream?.close();
});

const first = (): TestGateway => nodes[0] ?? assert.fail('no node');

/** Sends `each` requests to every node at once; resolves with how many had which status. */
async function storm(key: string, each: number): Promise<Map<number, number>> {
  const responses = await Promise.all(
    nodes.flatMap((node) =>
      Array.from({ length: each }, () => node.send('POST', '/chat/completions', { key, body })),
    ),
  );
  const counts = new Map<number, number>();
  for (const { status } of responses) counts.set(status, (counts.get(status) ?? 0) + 1);
  return counts;
}

/** Each node gets more than all of them may spend. */
const stormSize = byTier(20, 40);

const settled = () => Promise.all(nodes.map((node) => node.settled()));

/** What the nodes may spend without a query, in won. */
async function sharedWon(kind: 'account' | 'key', subject: number): Promise<number> {
  const [row] = await first().database.query<{ sum: bigint }>(
    'SELECT coalesce(sum(amount), 0)::bigint AS sum FROM spend_share WHERE kind = $1 AND subject = $2',
    [kind === 'account' ? 1 : 2, subject],
  );
  return Number(row?.sum ?? 0n) / 1e6;
}

/** Resolves when no share is left of what there was before. */
async function yielded(kind: 'account' | 'key', subject: number, leftWon: number): Promise<void> {
  const isYielded = async (): Promise<boolean> => (await sharedWon(kind, subject)) <= leftWon;
  await until(`at most ${leftWon} won are shared out`, isYielded, 2_000);
}

/**
 * Sends requests until the nodes have leases of more than so much in all, and resolves with what
 * the requests cost. A node that notices the new account or key only now releases its lease and
 * gets another at its next request; so does one that had no request for three seconds.
 */
async function leased(
  kind: 'account' | 'key',
  subject: number,
  key: string,
  moreThanWon: number,
): Promise<number> {
  let spentWon = 0;
  const areLeased = async (): Promise<boolean> => {
    assert.deepEqual([...(await storm(key, 1))], [[200, nodes.length]]);
    spentWon += nodes.length * costWon;
    await settled();
    return (await sharedWon(kind, subject)) > moreThanWon;
  };
  await until(`more than ${moreThanWon} won are shared out`, areLeased, 5_000);
  return spentWon;
}

// Exactly to the end, and with less than the cost of one request left.
for (const [creditWon, responded] of byTier(
  [[190, 10]] as const,
  [
    [200, 10],
    [190, 10],
  ] as const,
)) {
  test(`of 120 concurrent requests over three nodes on ${creditWon} won, ${responded} succeed and none is rejected before`, async (t) => {
    const { key, accountId } = await first().account({ credit: String(creditWon) });
    const startedMs = performance.now();
    const counts = await storm(key, 40);
    t.diagnostic(`${Math.round(performance.now() - startedMs)} ms`);
    await settled();
    const account = await first().operator.readAccount(accountId);
    const balanceWon = Number((account?.credits ?? 0n) - (account?.usage ?? 0n)) / 1e6;
    assert.deepEqual(Object.fromEntries(counts), { 200: responded, 402: 120 - responded });
    assert.equal(balanceWon, creditWon - responded * costWon, 'each response was billed');
    assert.ok(balanceWon > -costWon, `overspent by ${-balanceWon}`);
  });
}

test('many concurrent requests over three nodes that each are expected to cost all remaining credit all succeed', async (t) => {
  const count = byTier(40, 100);
  const { key, accountId } = await first().account({ credit: String((count + 1) * costWon) });
  const large = { ...body, max_tokens: 3_000 };
  const startedMs = performance.now();
  const responses = await Promise.all(
    Array.from({ length: count }, (_, n) =>
      (nodes[n % nodes.length] ?? first()).send('POST', '/chat/completions', { key, body: large }),
    ),
  );
  t.diagnostic(`${Math.round(performance.now() - startedMs)} ms`);
  assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([200]));
  await settled();
  const account = await first().operator.readAccount(accountId);
  assert.equal((account?.credits ?? 0n) - (account?.usage ?? 0n), 20_000_000n);
});

test('the remaining credit is spent to the end: no account keeps credit that it cannot use', async () => {
  const { key, accountId } = await first().account({ credit: '200' });
  let responded = 0;
  for (let round = 0; round < 200; round += 1) {
    const node = nodes[round % nodes.length] ?? first();
    const { status } = await node.send('POST', '/chat/completions', { key, body });
    if (status === 200) responded += 1;
    else if (status === 402) break;
  }
  await settled();
  const account = await first().operator.readAccount(accountId);
  // At exactly the floor one more is admitted, unless the node knows already that no credit is left
  // (spec:money/6.1,6.2).
  assert.ok(responded === 10 || responded === 11, `${responded} responses`);
  assert.equal(account?.usage, BigInt(responded * costWon) * 1_000_000n);
});

test("three nodes together overspend a key's limit by less than one request", async () => {
  const { key, hash } = await first().account({ credit: '100000', limit: '200' });
  await storm(key, stormSize);
  await settled();
  const row = await first().operator.readKey(hash);
  const spent = row === null ? 0n : (await first().operator.readSpend(row)).total;
  assert.ok(spent >= 160_000_000n, `spent only ${spent}`);
  assert.ok(spent < 220_000_000n, `spent ${spent}`);
});

const waitingOn = (node: TestGateway): Promise<number> => node.metric('naru_requests_waiting_for_credit');

/** Resolves when so many requests wait in line at a node. */
async function inLine(node: TestGateway, count: number): Promise<void> {
  await until(`${count} requests wait`, async () => (await waitingOn(node)) === count, 10_000);
}

// spec:conformance/219
test('a request waits for what other nodes have in flight, and is rejected by the actual usage', async () => {
  const { key } = await first().account({ credit: '100000000', limit: '40' });
  const [one, two] = [nodes[0] ?? assert.fail(), nodes[1] ?? assert.fail()];
  const barrier = gate();
  upstream.next(reply.chat('hello there', { usage: usage(10, 5) }).pauseAt(0, barrier));
  const large = { ...body, max_tokens: 20_000 };
  const inFlight = one.send('POST', '/chat/completions', { key, body: large });
  await barrier.reached;
  const waiting = [1, 2].map(() => two.send('POST', '/chat/completions', { key, body }));
  await inLine(two, 2);
  barrier.open();
  assert.equal((await inFlight).status, 200);
  const [second, third] = (await Promise.all(waiting)).map(({ status, json }) => [
    status,
    json.error?.metadata?.usage_krw,
  ]);
  assert.deepEqual(second, [200, undefined]);
  assert.deepEqual(third, [402, '40.000000']);
});

test('a steady load of small requests at two nodes does not starve a large one at the third', async (t) => {
  const { key } = await first().account({ credit: '20000' });
  const [one, ...others] = [nodes[0] ?? assert.fail(), nodes[1] ?? assert.fail(), nodes[2] ?? assert.fail()];
  const largeTokens = 8_000;
  const sizes: number[] = [];
  upstream.respond((request) => {
    sizes.push(Number(request.body['max_tokens']));
    return reply.chat('hello there', { usage: usage(10, 5) }).waitAt(0, 20);
  });
  t.after(() => upstream.always(reply.chat('hello there', { usage: usage(10, 5) })));
  let isOver = false;
  // Six at each node, the next as soon as one completes: their credit would suffice for a thousand
  // of them.
  let responses = 0;
  const callers = others.flatMap((node) =>
    Array.from({ length: 6 }, async () => {
      while (!isOver) {
        assert.equal((await node.send('POST', '/chat/completions', { key, body })).status, 200);
        responses += 1;
      }
    }),
  );
  while (responses < 24) await pause(5);
  const large = await one.send('POST', '/chat/completions', {
    key,
    body: { ...body, max_tokens: largeTokens },
  });
  isOver = true;
  await Promise.all(callers);
  assert.equal(large.status, 200);
  assert.ok(sizes.includes(largeTokens));
});

test('a dead node blocks its leases for as long as it may be alive, and no longer', async (t) => {
  const { key, accountId } = await first().account({ credit: '100' });
  const [row] = await first().database.query<{ id: bigint }>(
    "INSERT INTO gateway_node (home, address) VALUES (gen_random_uuid(), 'died') RETURNING id",
  );
  await first().database.query(
    'INSERT INTO spend_share (kind, account_id, subject, node_id, amount) VALUES (1, $1, $1, $2, 100000000)',
    [accountId, row?.id],
  );
  const startedMs = performance.now();
  const waiting = first().send('POST', '/chat/completions', { key, body });
  await inLine(first(), 1);
  assert.equal((await waiting).status, 200);
  const waitedMs = performance.now() - startedMs;
  t.diagnostic(`${Math.round(waitedMs)} ms`);
  assert.ok(waitedMs > 4_000 && waitedMs < scaledLimit(8_000), `${waitedMs} ms`);
});

test('a limit that is lowered is not exceeded by earlier leases', async () => {
  const account = await first().account({ credit: '100000', limit: '50000' });
  const { key, hash } = account;
  const management = (await account.another({ kind: 'management' })).key;
  const row = (await first().operator.readKey(hash)) ?? assert.fail('no key');
  const beforeWon = await leased('key', row.id, key, 10_000);
  const change = { key: management, body: { limit: beforeWon + 200 } };
  assert.equal((await nodes[1]?.send('PATCH', `/keys/${hash}`, change))?.status, 200);
  await yielded('key', row.id, 200);
  await storm(key, stormSize);
  await settled();
  const spentWon = Number((await first().operator.readSpend(row)).total) / 1e6;
  assert.ok(spentWon >= 200 && spentWon < beforeWon + 200 + costWon, `spent ${spentWon}`);
});

test('a new limit on a key counts what other nodes have in flight with it', async (t) => {
  const account = await first().account({ credit: '1000000' });
  const { key, hash } = account;
  const management = (await account.another({ kind: 'management' })).key;
  const [one, two] = [nodes[0] ?? assert.fail(), nodes[1] ?? assert.fail()];
  const hold = gate();
  upstream.next(reply.chat('hello there', { usage: usage(10, 5) }).pauseAt(0, hold));
  const large200 = one.send('POST', '/chat/completions', { key, body: { ...body, max_tokens: 20_000 } });
  await hold.reached;
  // Below what that request may cost, and far above what others can spend in two seconds.
  const change = { key: management, body: { limit: 30_000 } };
  assert.equal((await two.send('PATCH', `/keys/${hash}`, change)).status, 200);
  const changedMs = performance.now();
  let sent = two.send('POST', '/chat/completions', { key, body });
  const waits = inLine(two, 1).then(() => 'waits' as const);
  for (let last: 'waits' | 'done' = 'done'; last !== 'waits'; ) {
    last = await Promise.race([waits, sent.then(() => 'done' as const)]);
    if (last === 'done') await pause(5);
    if (last === 'done') sent = two.send('POST', '/chat/completions', { key, body });
  }
  const tookMs = performance.now() - changedMs;
  t.diagnostic(`waits after ${Math.round(tookMs)} ms`);
  assert.ok(tookMs < scaledLimit(2_000));
  hold.open();
  assert.equal((await large200).status, 200);
  assert.equal((await sent).status, 200, 'it cost less');
});

test('credit that is deducted is not spent by earlier leases', async () => {
  const { key, accountId } = await first().account({ credit: '100000' });
  const taken = 100_000 - (await leased('account', accountId, key, 10_000)) - 200;
  const adjustment = { accountId, reason: 'a mistake', idempotencyKey: null };
  await first().operator.adjustCredit({ ...adjustment, amount: krwOfMicro(BigInt(-taken) * 1_000_000n) });
  await yielded('account', accountId, 200);
  await storm(key, stormSize);
  await settled();
  const { credits = 0n, usage: used = 0n } = (await first().operator.readAccount(accountId)) ?? {};
  const balanceWon = Number(credits - used) / 1e6;
  assert.ok(balanceWon >= -costWon, `overspent to ${balanceWon}`);
});

test('far from the floor a node needs one query for thousands of requests', async (t) => {
  const { key, accountId } = await first().account({ credit: '1000000' });
  const sharedMicro = async (): Promise<bigint> =>
    BigInt(Math.round((await sharedWon('account', accountId)) * 1e6));
  // A quarter: the dead node of an earlier test may still count, and then each gets less.
  await leased('account', accountId, key, 250_000);
  // Every request gets another lease: the rest of these is what was granted less what was spent, to
  // the micro-won. A busy machine makes a node query again, so later storms are shorter; nothing
  // makes it query less.
  for (let storms = 1; ; storms += 1) {
    const requests = Math.ceil(40 / storms);
    const granted = await sharedMicro();
    assert.deepEqual([...(await storm(key, requests))], [[200, 3 * requests]]);
    await settled();
    const spent = granted - (await sharedMicro());
    if (spent === BigInt(3 * requests * costWon) * 1_000_000n) return;
    t.diagnostic(`storm ${storms}: the leases changed by ${spent}`);
    assert.ok(storms < 10, 'the nodes query for requests that their leases cover');
  }
});

test('a record and the credits are current at every node, at once', async () => {
  const { key } = await first().account({ credit: '100' });
  for (const node of nodes) {
    const response = await node.send('POST', '/chat/completions', { key, body });
    const id = response.headers.get('x-service-generation-id');
    for (const other of nodes) {
      const record = await other.send('GET', `/generation?id=${id}`, { key });
      assert.equal(record.status, 200);
      assert.equal(record.json.data.usage, costWon);
    }
  }
  await settled();
  for (const node of nodes) {
    assert.equal((await node.send('GET', '/key', { key })).json.data.usage, 3 * costWon);
  }
});

// spec:conformance/63,64
test("a key's usage is the same at every node, in its object and in the list", async () => {
  const account = await first().account({ credit: '100000' });
  const management = (await account.another({ kind: 'management' })).key;
  for (const node of nodes) assert.equal((await node.send('GET', '/key', { key: account.key })).status, 200);
  assert.equal((await first().send('POST', '/chat/completions', { key: account.key, body })).status, 200);
  await settled();
  for (const node of nodes) {
    const { data } = (await node.send('GET', `/keys/${account.hash}`, { key: management })).json;
    const list = (await node.send('GET', '/keys', { key: management })).json.data;
    assert.equal(data.usage, costWon);
    assert.deepEqual(
      list.find((one: { readonly hash: string }) => one.hash === account.hash),
      data,
    );
  }
});

test('an account that another node used up has no credit here within a second', async () => {
  const [one, two] = [nodes[0] ?? assert.fail(), nodes[1] ?? assert.fail()];
  const { key } = await one.account({ credit: '20' });
  assert.equal((await two.send('GET', '/credits', { key })).status, 200);
  assert.equal((await one.send('POST', '/chat/completions', { key, body })).status, 200);
  await one.settled();
  const endMs = performance.now() + 5_000;
  const requestedMs = performance.now();
  for (;;) {
    const { status } = await two.send('GET', '/credits', { key });
    if (status === 402) break;
    assert.ok(performance.now() < endMs, 'never noticed');
    await pause(15);
  }
  const tookMs = performance.now() - requestedMs;
  assert.ok(tookMs < scaledLimit(1_000), `noticed after ${tookMs} ms`);
});
