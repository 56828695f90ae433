import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openAccounting } from '../../src/app/accounting.ts';
import { silentLog } from '../../src/log/log.ts';
import { krwOfMicro } from '../../src/money/krw.ts';
import { ChangeFeed } from '../../src/nodes/change-feed.ts';
import { changesAfter, forgetOldChanges, recordChange, seenUntilNow } from '../../src/store/changes.ts';
import { Database } from '../../src/store/database.ts';
import { createTestDatabase } from '../harness/database.ts';
import { startTestGateway, type TestAccount, type TestGateway, testConfig } from '../harness/gateway.ts';
import { TestClock } from '../harness/test-clock.ts';
import { byTier } from '../harness/tier.ts';
import { until } from '../harness/until.ts';
import { reply, startUpstream, type Upstream, usage } from '../harness/upstream.ts';
import { type DeafProxy, startDeafProxy } from './notification-filter.ts';

// A change on one node takes effect on every other within a second, also without a notification.

const body = { model: 'test/echo', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] };

let upstream: Upstream;
let proxy: DeafProxy;
let one: TestGateway;
const others = new Map<string, TestGateway>();

before(async () => {
  upstream = await startUpstream();
  upstream.always(reply.chat('hello there', { usage: usage(10, 5) }));
  const models = [{ id: 'test/echo', upstreams: [upstream.url] }];
  one = await startTestGateway({ models });
  others.set('a node that receives NOTIFY', await startTestGateway({ models, beside: one }));
  const through: Parameters<typeof startTestGateway>[0] = {
    models,
    beside: one,
    through: async (address) => {
      proxy = await startDeafProxy(address);
      return proxy.address;
    },
  };
  others.set('a node that receives no NOTIFY', await startTestGateway(through));
});
after(async () => {
  for (const node of others.values()) await node.close();
  await proxy?.close();
  await one?.close();
  await upstream?.close();
});

/**
 * Polls the node until it responds with the status, and returns the duration; fails when that takes
 * longer than a second.
 */
async function respondsWithin(node: TestGateway, key: string, status: number, what: string): Promise<number> {
  const beganMs = performance.now();
  for (;;) {
    const sentMs = performance.now();
    const response = await node.send('POST', '/chat/completions', { key, body });
    if (response.status === status) return Math.round(sentMs - beganMs);
    assert.ok(sentMs - beganMs < 1_000, `${what}: still ${response.status} after a second`);
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
}

const drain = (drained: boolean) =>
  one.operator.changeDrain({
    model: 'test/echo',
    candidate: 'up1/upstream-echo',
    drained,
    reason: 'test',
    idempotencyKey: null,
  });

/** Each change with the status before it and after it. */
const changes: readonly {
  readonly name: string;
  readonly account?: Parameters<TestGateway['account']>[0];
  readonly before: number;
  readonly after: number;
  readonly change: (account: TestAccount) => Promise<unknown>;
  /** For what is not of the account alone. */
  readonly undo?: () => Promise<unknown>;
}[] = [
  {
    name: 'a revoked key',
    before: 200,
    after: 401,
    change: async ({ another, hash }) => {
      const { key } = await another({ kind: 'management' });
      await one.send('DELETE', `/keys/${hash}`, { key });
    },
  },
  {
    name: 'a key switched off',
    before: 200,
    after: 401,
    change: async ({ another, hash }) => {
      const { key } = await another({ kind: 'management' });
      await one.send('PATCH', `/keys/${hash}`, { key, body: { disabled: true } });
    },
  },
  {
    name: 'a key suspended by the administrator',
    before: 200,
    after: 403,
    change: ({ hash }) => one.operator.suspendKey({ hash, suspended: true, reason: 'test' }),
  },
  {
    name: 'a drain of the only candidate',
    before: 200,
    after: 404,
    change: () => drain(true),
    undo: () => drain(false),
  },
  {
    name: 'a top-up',
    account: { credit: '0' },
    before: 402,
    after: 200,
    change: ({ topUp }) => topUp('1000'),
  },
  {
    name: 'a limit',
    before: 200,
    after: 402,
    change: async ({ another, hash }) => {
      const { key } = await another({ kind: 'management' });
      await one.send('PATCH', `/keys/${hash}`, { key, body: { limit: 0 } });
    },
  },
];

for (const { name, account: options, before: statusBefore, after: statusAfter, change, undo } of changes) {
  test(`${name} takes effect on every node within a second, announced or not`, async (t) => {
    for (const [kind, node] of others) {
      const account = await one.account(options);
      assert.equal(
        (await node.send('POST', '/chat/completions', { key: account.key, body })).status,
        statusBefore,
      );
      await change(account);
      const tookMs = await respondsWithin(node, account.key, statusAfter, `${name}, ${kind}`);
      t.diagnostic(`${name}, ${kind}: after ${tookMs} ms`);
      if (undo === undefined) continue;
      await undo();
      for (const [which, each] of others)
        await respondsWithin(each, account.key, statusBefore, `${name} undone, ${which}`);
    }
  });
}

test('a change that commits late, after thousands of others, takes effect on every node within a second', async (t) => {
  const { key, hash } = await one.account();
  for (const node of others.values())
    assert.equal((await node.send('POST', '/chat/completions', { key, body })).status, 200);
  const done = Promise.withResolvers<void>();
  const revoked = one.database.transaction(async (sql) => {
    const rows = await sql.query<{ id: bigint }>(
      'UPDATE api_key SET revoked_at = now() WHERE hash = $1 RETURNING id',
      [Buffer.from(hash, 'hex')],
    );
    await recordChange(sql, 'key', Number(rows[0]?.id));
    await done.promise;
  });
  // More than a page of them, in one transaction and in many.
  await one.database.transaction(async (sql) => {
    await sql.query(
      "INSERT INTO change_event (topic, subject) SELECT 'key', 1 FROM generate_series(1, 2500)",
    );
  });
  // At once: the open transaction is ended by the server when it is idle for 10 s.
  await Promise.all(
    Array.from({ length: byTier(100, 300) }, () =>
      one.database.transaction((sql) => recordChange(sql, 'key', 1)),
    ),
  );
  await new Promise((resolve) => setTimeout(resolve, 600));
  for (const node of others.values())
    assert.equal((await node.send('POST', '/chat/completions', { key, body })).status, 200);
  done.resolve();
  await revoked;
  for (const [kind, node] of others) {
    const tookMs = await respondsWithin(node, key, 401, `a late change, ${kind}`);
    t.diagnostic(`${kind}: after ${tookMs} ms`);
  }
});

test('changes are kept for a week; a node without a database for half a week discards its cache', async (t) => {
  const { database } = one;
  await database.query(`INSERT INTO change_event (topic, subject, at) VALUES ('key', 1, now() - interval '8 days'),
    ('key', 2, now() - interval '6 days')`);
  await forgetOldChanges(database);
  const old = await database.query(
    "SELECT subject::int FROM change_event WHERE at < now() - interval '1 day'",
  );
  assert.deepEqual(old, [{ subject: 2 }]);
  let laterMs = 0;
  let hasHistoryChanged = false;
  const clock = Object.assign(new TestClock(), { monotonic: () => performance.now() + laterMs });
  const warned: unknown[] = [];
  const log = { ...silentLog, warn: (_event: string, fields: unknown) => warned.push(fields) };
  const connect = (limitMs: number) => database.connect(limitMs);
  const feed = await ChangeFeed.start({
    ...{ connect, clock, log },
    since: await seenUntilNow(database),
    hasHistoryChanged: () => hasHistoryChanged,
    onAway: () => {},
    onChanges: async () => {},
  });
  t.after(() => feed.close());
  laterMs = 3 * 86_400_000;
  await feed.fresh();
  const refused = (): Promise<void> =>
    assert.rejects(feed.fresh() ?? Promise.resolve(), /the database is away/);
  laterMs += 2_000;
  hasHistoryChanged = true;
  await refused();
  hasHistoryChanged = false;
  laterMs += 4 * 86_400_000;
  assert.equal(feed.isFresh, false);
  await refused();
  assert.match(JSON.stringify(warned), /restart Naru/);
  assert.equal(feed.isAway, true);
  await refused();
});

test('a start reports the last publication, and none twice, whatever happens to its connection', async (t) => {
  const { address, drop } = await createTestDatabase();
  const database = new Database(address, 4);
  const dataDir = mkdtempSync(join(tmpdir(), 'naru-changes-'));
  await recordChange(database, 'catalogue', 1);
  let received = 0;
  const config = testConfig({});
  const parts = {
    config,
    database,
    dataDir,
    clock: new TestClock(),
    log: silentLog,
    debtFloor: () => krwOfMicro(0n),
  };
  const accounting = await openAccounting({ ...parts, onPublished: () => (received += 1) });
  t.after(async () => {
    await accounting.close();
    await database.close();
    await drop();
    rmSync(dataDir, { recursive: true });
  });
  assert.equal(received, 1);
  const [was] = await listener(database);
  assert.ok(was !== undefined);
  await database.query('SELECT pg_terminate_backend($1::int)', [was.pid]);
  await until(
    'another connection',
    async () => ![undefined, was.pid].includes((await listener(database))[0]?.pid),
  );
  await recordChange(database, 'catalogue', 2);
  await until('the next one', () => received > 1);
  assert.equal(received, 2);
});

/** The connection on which notifications arrive. */
function listener(database: Database): Promise<readonly { readonly pid: number }[]> {
  return database.query(
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'SELECT now.seen%'",
  );
}

test('rows that another server numbered, such as those of a restored copy, are not new at each poll', async () => {
  const { database } = one;
  const client = await database.connect(3_000);
  const seen = await seenUntilNow(database);
  await database.query("INSERT INTO change_event (topic, subject, tx) VALUES ('key', 9, '900000000000')");
  await recordChange(database, 'key', 10);
  const { changes } = await changesAfter(client, seen, 0);
  await client.end();
  assert.deepEqual(
    changes.map(({ subject }) => subject),
    [10],
  );
});

test('the node with a cut notification channel received no notification', () => {
  assert.ok(proxy.swallowed > 0);
});
