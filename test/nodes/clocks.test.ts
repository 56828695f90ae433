/** Machines whose clocks are wrong: what is stored is dated by the clock of the database. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { UsageRoller } from '../../src/generations/analytics/roll-usage.ts';
import { readRolledUntil } from '../../src/generations/analytics/rolling-sql.ts';
import { usageTotals } from '../../src/generations/analytics/usage-sql.ts';
import { DatabaseClock } from '../../src/store/database-clock.ts';
import { readServerTime } from '../../src/store/server-time.ts';
import { isRecent, systemClock } from '../../src/time/clock.ts';
import { seoulDayAt } from '../../src/time/period.ts';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { TestClock } from '../harness/test-clock.ts';
import { until } from '../harness/until.ts';
import { reply, startUpstream, type Upstream, usage } from '../harness/upstream.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** 20 won: 10 prompt tokens at 1 won, 5 completion tokens at 2. */
const costWon = 20;
const body = { model: 'test/echo', max_tokens: 5, messages: [{ role: 'user', content: 'hello' }] };

let upstream: Upstream;
before(async () => {
  upstream = await startUpstream();
  upstream.always(reply.chat('hello there', { usage: usage(10, 5) }));
});
after(() => upstream.close());

const clockAt = (instant: string): TestClock => {
  const clock = new TestClock();
  clock.set(instant);
  return clock;
};

const start = (options: Parameters<typeof startTestGateway>[0]): Promise<TestGateway> =>
  startTestGateway({ models: [{ id: 'test/echo', upstreams: [upstream.url] }], ...options });

// spec:money/7.8
for (const reset of ['weekly', 'monthly'] as const)
  test(`two nodes on both sides of a midnight of Seoul spend a ${reset} limit together`, async (t) => {
    // A Wednesday and a Thursday of one week and one month.
    const slow = await start({ clock: clockAt('2026-11-25T23:58:00+09:00') });
    t.after(() => slow.close());
    const fast = await start({ clock: clockAt('2026-11-26T00:00:05+09:00'), beside: slow });
    t.after(() => fast.close());
    const { key, accountId } = await slow.account({ limit: '200', limitReset: reset });
    const send = async (node: TestGateway, times: number): Promise<number> => {
      const sent = Array.from({ length: times }, () => node.send('POST', '/chat/completions', { key, body }));
      const responses = await Promise.all(sent);
      await node.settled();
      return responses.filter(({ status }) => status === 200).length;
    };
    const responded = [
      await send(fast, 4),
      await send(slow, 2),
      await send(fast, 12),
      await send(slow, 12),
      await send(fast, 12),
    ];
    const [spent] = await slow.database.query<{ won: number }>(
      'SELECT (sum(cost) / 1000000)::float8 AS won FROM key_usage_day WHERE account_id = $1',
      [accountId],
    );
    assert.ok(Number(spent?.won) <= 200 + costWon, `${spent?.won} won: ${responded}`);
    assert.ok(Number(spent?.won) >= 200, `${spent?.won} won: ${responded}`);
  });

test('everything that a node stores is dated by the clock of the database, wherever its own goes', async (t) => {
  const clock = new TestClock();
  clock.advance(dayMs);
  const naru = await start({ clock, followsDatabase: true });
  t.after(() => naru.close());
  const { key, accountId } = await naru.account();
  assert.equal((await naru.send('POST', '/chat/completions', { key, body })).status, 200);
  clock.advance(-100 * dayMs);
  assert.equal((await naru.send('POST', '/chat/completions', { key, body })).status, 200);
  await naru.settled();
  const nowMs = await readServerTime(naru.database);
  const records = await naru.database.query<{ created_at: number; settled_at: number }>(
    'SELECT created_at, settled_at FROM generation WHERE account_id = $1',
    [accountId],
  );
  const [made] = await naru.database.query<{ created_at: number }>(
    'SELECT created_at FROM account WHERE id = $1',
    [accountId],
  );
  const instants = [...records.flatMap((row) => [row.created_at, row.settled_at]), made?.created_at ?? 0];
  assert.equal(instants.length, 5);
  for (const atMs of instants) assert.ok(isRecent(atMs, nowMs, 60_000), `${atMs - nowMs}`);
  const days = await naru.database.query<{ day: number }>(
    "SELECT DISTINCT day - date '1970-01-01' AS day FROM key_usage_day WHERE account_id = $1",
    [accountId],
  );
  assert.ok(days.every(({ day }) => Math.abs(day - seoulDayAt(nowMs)) <= 1));
});

test('a slow response of the database moves no clock, and one beyond doubt does', async () => {
  let monotonic = 1_000;
  const machine = { ...systemClock, monotonic: () => monotonic };
  const server = { nowMs: 50_000, takesMs: 0 };
  const database = {
    query: async <Row>(): Promise<Row[]> => {
      const row = { now: server.nowMs } as Row;
      monotonic += server.takesMs;
      return [row];
    },
  };
  const clock = await DatabaseClock.open(database, machine);
  assert.equal(clock.now(), 50_000);
  server.takesMs = 4_000;
  await clock.measure();
  assert.equal(clock.now(), 54_000, 'the server may have read its clock at the beginning');
  server.nowMs = 58_000;
  await clock.measure();
  assert.equal(clock.now(), 58_000, 'or at the end');
  server.nowMs += hourMs;
  await clock.measure();
  const now = clock.now() - hourMs;
  assert.ok(now >= 58_000 && now <= 62_000, `${now}`);
});

test('a lost node of the future releases its leases when the clock of the database has gone back', async (t) => {
  const naru = await start({});
  t.after(() => naru.close());
  const { accountId, key } = await naru.account({ credit: '30' });
  await naru.database.transaction(async (sql) => {
    const [dead] = await sql.query<{ id: bigint }>(
      `INSERT INTO gateway_node (home, address, session, process, keeps_charges, seen_at, knows)
       VALUES (gen_random_uuid(), 'dead:1', gen_random_uuid(), 'dead', true, now() + interval '1 hour', 1000000) RETURNING id`,
    );
    await sql.query(
      'INSERT INTO spend_share (account_id, kind, subject, node_id, amount) VALUES ($1, 1, $1, $2, 5030000000)',
      [accountId, dead?.id],
    );
  });
  await until(
    'the dead node is lost',
    async () =>
      (await naru.operator.readNodes()).some(
        ({ address, lives, silentMs }) => address === 'dead:1' && !lives && silentMs > 0,
      ),
    15_000,
  );
  assert.equal((await naru.send('POST', '/chat/completions', { key, body })).status, 200);
});

test('hours that a wrong clock rolled up before their end are rolled up again', async (t) => {
  const ahead = new TestClock();
  ahead.advance(dayMs);
  const naru = await start({ clock: new TestClock(), followsDatabase: true });
  t.after(() => naru.close());
  const { database } = naru;
  const { key } = await naru.account();
  const early = new UsageRoller({ database, clock: ahead });
  const isRolled = async (): Promise<boolean> => {
    await early.run();
    return (await readRolledUntil(database)) !== null;
  };
  await until('the mark is of the wrong clock', isRolled, 10_000);
  assert.ok(Number(await readRolledUntil(database)) > (await readServerTime(database)) + 20 * hourMs);
  assert.equal((await naru.send('POST', '/chat/completions', { key, body })).status, 200);
  await naru.settled();
  for await (const span of naru.operator.rebuildUsage({})) assert.ok(span.toMs <= systemClock.now());
  const nowMs = await readServerTime(database);
  assert.ok(Number(await readRolledUntil(database)) <= nowMs);
  const span = { accountId: null, fromMs: nowMs - hourMs, toMs: nowMs + 2 * dayMs };
  assert.equal((await usageTotals(database, span)).requests, 1n);
});
