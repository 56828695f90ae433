import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { type TestContext, test } from 'node:test';
import { silentLog } from '../../src/log/log.ts';
import { NodeRegistry } from '../../src/nodes/node-registry.ts';
import {
  claimHome,
  listNodes,
  type NodeHolder,
  nodeLostMs,
  removeLostNodes,
} from '../../src/nodes/nodes-sql.ts';
import type { DatabaseAddress } from '../../src/store/connection.ts';
import { pause, systemClock } from '../../src/time/clock.ts';
import { type Cutter, startCutter } from '../chaos/proxy.ts';
import { createTestDatabase, openTestDatabase } from '../harness/database.ts';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { fullOnly, sample } from '../harness/tier.ts';
import { scaledLimit } from '../harness/time-limit.ts';
import { until } from '../harness/until.ts';
import { gate, reply, startUpstream, type Upstream, usage } from '../harness/upstream.ts';

const config = { limits: { debt_floor_krw: 0 } };
const body = { model: 'test/echo', max_tokens: 5, messages: [{ role: 'user', content: 'hello there' }] };

/**
 * Starts gateways on one upstream, and closes all of them, the last one first, when the test is
 * over.
 */
async function startNodes(t: TestContext): Promise<{
  readonly upstream: Upstream;
  readonly start: (options?: Parameters<typeof startTestGateway>[0]) => Promise<TestGateway>;
}> {
  const upstream = await startUpstream();
  upstream.always(reply.chat('hello', { usage: usage(10, 5) }));
  const started: TestGateway[] = [];
  t.after(async () => {
    for (const node of started.toReversed()) await node.close();
    await upstream.close();
  });
  const models = [{ id: 'test/echo', upstreams: [upstream.url] }];
  return {
    upstream,
    start: async (options) => {
      const node = await startTestGateway({ models, config, ...options });
      started.push(node);
      return node;
    },
  };
}

const nodesOf = (naru: TestGateway) =>
  naru.database.query<{ id: bigint; address: string }>('SELECT id, address FROM gateway_node ORDER BY id');

test('four nodes that start at once on an empty database all serve, and one of them migrates it', async (t) => {
  const { address, drop } = await createTestDatabase(null);
  t.after(drop);
  const { start } = await startNodes(t);
  const started = await Promise.all([1, 2, 3, 4].map(() => start({ address })));
  const [first] = started;
  assert.ok(first !== undefined);
  const { key } = await first.account();
  const statuses = await Promise.all(
    started.map(async (node) => (await node.send('POST', '/chat/completions', { key, body })).status),
  );
  assert.deepEqual(statuses, [200, 200, 200, 200]);
  const applied = await first.database.query('SELECT version FROM schema_migration');
  assert.equal(new Set(applied.map((row) => row['version'])).size, applied.length);
  assert.equal((await nodesOf(first)).length, 4);
});

test('a node that leaves is removed from the list, its leases do not count, and the remaining one is alone', async (t) => {
  const { start } = await startNodes(t);
  const one = await start();
  const two = await start({ beside: one });
  const { key } = await one.account({ credit: '1000' });
  assert.equal((await two.send('POST', '/chat/completions', { key, body })).status, 200);
  const shares = () =>
    one.database.query('SELECT 1 FROM spend_share WHERE node_id IN (SELECT id FROM gateway_node)');
  assert.ok((await shares()).length > 0);
  await two.close();
  assert.equal((await nodesOf(one)).length, 1);
  assert.equal((await shares()).length, 0);
});

test("a dead node's leases are unavailable only until it is declared dead", async (t) => {
  const { start } = await startNodes(t);
  const one = await start();
  const { key, accountId } = await one.account({ credit: '100' });
  // A node that was killed a moment ago with all of the credit as its share.
  const [ghost] = await one.database.query<{ id: bigint }>(
    "INSERT INTO gateway_node (home, address, knows) VALUES ($1, 'ghost', 1000) RETURNING id",
    [randomUUID()],
  );
  await one.database.query(
    'INSERT INTO spend_share (kind, account_id, subject, node_id, amount) VALUES (1, $1, $1, $2, 100000001)',
    [accountId, ghost?.id],
  );
  await until('it is reckoned with', async () => {
    const rows = await one.database.query<{ knows: bigint }>(
      "SELECT knows FROM gateway_node WHERE address <> 'ghost'",
    );
    return (rows[0]?.knows ?? 0n) >= (ghost?.id ?? 0n);
  });
  const startedMs = performance.now();
  assert.equal((await one.send('POST', '/chat/completions', { key, body })).status, 200, 'it waits in line');
  const waitedMs = performance.now() - startedMs;
  assert.ok(waitedMs > 2_000 && waitedMs < scaledLimit(8_000), `${waitedMs} ms`);
});

test('a node that starts again in the same data directory replaces the one that died there', async (t) => {
  const database = await openTestDatabase(t, { poolSize: 1 });
  const [home, another] = [randomUUID(), randomUUID()];
  const register = async (at: string, address: string): Promise<number> => {
    const claim = { home: at, address, session: randomUUID(), process: '', keepsCharges: true };
    const isLost = ({ silentMs }: NodeHolder) => silentMs >= nodeLostMs;
    const outcome = await claimHome(database, claim, isLost);
    assert.equal(outcome.kind, 'registered');
    return outcome.kind === 'registered' ? outcome.id : 0;
  };
  const died = await register(home, 'died');
  const stays = await register(another, 'stays');
  await database.query(
    'INSERT INTO spend_share (kind, account_id, subject, node_id, amount) VALUES (1, 1, 1, $1, 5), (1, 1, 1, $2, 7)',
    [died, stays],
  );
  await database.query("UPDATE gateway_node SET seen_at = seen_at - interval '6 seconds' WHERE id = $1", [
    died,
  ]);
  const again = await register(home, 'again');
  const nodes = await listNodes(database);
  assert.deepEqual(
    nodes.map(({ id }) => id),
    [stays, again],
  );
  await removeLostNodes(database, nodeLostMs);
  assert.deepEqual(await database.query('SELECT node_id, amount FROM spend_share'), [
    { node_id: BigInt(stays), amount: 7n },
  ]);
});

test('requests in flight are counted when a second node joins', async (t) => {
  const { upstream, start } = await startNodes(t);
  const held = gate();
  upstream.next(reply.chat('hello', { usage: usage(10, 5) }).pauseAt(0, held));
  const one = await start();
  // Far less than the estimate of the request that hangs.
  const { key } = await one.account({ credit: '20' });
  const hanging = one.send('POST', '/chat/completions', { key, body });
  await upstream.request(1);
  const two = await start({ beside: one });
  const waiting = two.send('POST', '/chat/completions', { key, body });
  await until('it waits in line', async () => (await two.metric('naru_requests_waiting_for_credit')) === 1);
  held.open();
  assert.equal((await hanging).status, 200);
  const refused = await waiting;
  assert.deepEqual([refused.status, refused.json.error.metadata.balance_krw], [402, '0.000000']);
});

test(
  "after a database outage longer than the node timeout, the nodes count each other's leases again",
  fullOnly,
  async (t) => {
    const { start } = await startNodes(t);
    const cutters: Cutter[] = [];
    t.after(async () => {
      for (const cutter of cutters) await cutter.close();
    });
    const through = async (address: DatabaseAddress): Promise<DatabaseAddress> => {
      const cutter = await startCutter(address);
      cutters.push(cutter);
      return cutter.address;
    };
    const owner = await createTestDatabase();
    t.after(() => owner.drop());
    const one = await start({ address: owner.address, through });
    const two = await start({ address: owner.address, through });
    const { key, accountId } = await one.account({ credit: '200' });
    for (const cutter of cutters) cutter.down();
    await new Promise((resolve) => setTimeout(resolve, nodeLostMs + 500));
    for (const cutter of cutters) cutter.up();
    for (const node of [one, two])
      await until('it serves again', async () => (await node.send('GET', '/key', { key })).status === 200);
    const responses = await Promise.all(
      [one, two].flatMap((node) =>
        Array.from({ length: 40 }, () => node.send('POST', '/chat/completions', { key, body })),
      ),
    );
    await one.settled();
    await two.settled();
    const responded = responses.filter(({ status }) => status === 200).length;
    assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([200, 402]));
    assert.ok(responded >= 8 && responded <= 11, `${responded} responses for 200 won at 20 won each`);
    const account = await one.operator.readAccount(accountId);
    assert.equal(account?.usage, BigInt(responded) * 20_000_000n);
    assert.equal((await nodesOf(one)).length, 2);
  },
);

test('a node has joined once the other nodes count its leases', async (t) => {
  const database = await openTestDatabase(t, { poolSize: 2 });
  const parts = { database, clock: systemClock, log: silentLog, address: '127.0.0.1:1' };
  const first = await NodeRegistry.join({ ...parts, home: randomUUID() });
  let hasJoined = false;
  const second = NodeRegistry.join({ ...parts, home: randomUUID() }).finally(() => {
    hasJoined = true;
  });
  while ((await listNodes(database)).length < 2) await pause(systemClock, 10, new AbortController().signal);
  await pause(systemClock, 100, new AbortController().signal);
  assert.equal(hasJoined, false, 'the first one has not looked yet');
  await first.beat();
  await second;
  assert.equal(first.count, 2);
});

test('a node that rejoins admits nothing until its leases are published, however often that fails', async (t) => {
  const database = await openTestDatabase(t, { poolSize: 2 });
  const registry = await NodeRegistry.join({
    database,
    clock: systemClock,
    log: silentLog,
    home: randomUUID(),
    address: '127.0.0.1:1',
  });
  const waited: boolean[] = [];
  registry.onOtherNodes(async () => {
    await Promise.resolve();
    waited.push(registry.untilSeen !== null);
    if (waited.length < 3) throw new Error('the database is away');
  });
  assert.equal(registry.untilSeen, null);
  // As another node does with one that was lost for long.
  await database.query('DELETE FROM gateway_node WHERE id = $1', [registry.id]);
  await assert.rejects(registry.beat(), /away/);
  await assert.rejects(registry.beat(), /away/);
  await registry.beat();
  assert.deepEqual(waited, [true, true, true]);
  await registry.untilSeen;
  await registry.beat();
  assert.equal(waited.length, 3);
  assert.deepEqual([registry.untilSeen, registry.isAlone], [null, true]);
  assert.equal((await listNodes(database)).length, 1);
});

for (const [what, terms] of sample(
  [
    ['an account', { credit: '200' }],
    ['the limit of a key', { credit: '10000', limit: '200' }],
  ] as const,
  1,
)) {
  test(`a node that is alone again knows what the others spent of ${what}`, async (t) => {
    const { start } = await startNodes(t);
    const one = await start();
    const two = await start({ beside: one });
    const { key, accountId } = await one.account(terms);
    const send = (node: TestGateway) => node.send('POST', '/chat/completions', { key, body });
    assert.equal((await send(one)).status, 200);
    for (let n = 0; n < 8; n += 1) assert.equal((await send(two)).status, 200);
    await two.stop();
    await until('it is alone', async () => (await nodesOf(one)).length === 1);
    // It polls twice a second.
    await new Promise((resolve) => setTimeout(resolve, scaledLimit(700)));
    const responses = await Promise.all(Array.from({ length: 20 }, () => send(one)));
    await one.settled();
    const responded = responses.filter(({ status }) => status === 200).length;
    // 20 won are left, for one request; at exactly zero one more is admitted for an account.
    assert.ok(responded >= 1 && responded <= 2, `${responded} responses`);
    const account = await one.operator.readAccount(accountId);
    assert.equal(account?.usage, BigInt(9 + responded) * 20_000_000n);
  });
}

test('naru node list shows serving and lost nodes', async (t) => {
  const { start } = await startNodes(t);
  const one = await start();
  await one.database.query(
    "INSERT INTO gateway_node (home, address, seen_at) VALUES ($1, 'elsewhere:8787', now() - interval '1 minute')",
    [randomUUID()],
  );
  const nodes = await one.operator.readNodes();
  assert.deepEqual(
    nodes.map(({ address, lives }) => [address, lives]),
    [
      [new URL(one.origin).host, true],
      ['elsewhere:8787', false],
    ],
  );
  const { hostname: host, version, configuration } = nodes[0] ?? {};
  assert.deepEqual([host, version, configuration?.length], [hostname(), '0.0.0', 12]);
});
