/**
 * A database that states, as Citus does, that half of its shards are on a server that does not
 * respond. `npm run chaos:cluster` kills a real one.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { examineServers } from '../../src/admin/doctor/findings.ts';
import { ReadinessCheck } from '../../src/app/readiness.ts';
import { expireCredit, grantCredit } from '../../src/ledger/credit.ts';
import type { Log } from '../../src/log/log.ts';
import { krwOfMicro } from '../../src/money/krw.ts';
import type { Database } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { isSamePlacement, serversOf, shardsFrom } from '../../src/store/placement/shards.ts';
import { ServerWatch } from '../../src/store/server-watch.ts';
import { systemClock } from '../../src/time/clock.ts';
import { openTestDatabase } from '../harness/database.ts';
import { freePort } from '../harness/free-port.ts';
import { stateCluster } from '../harness/stated-cluster.ts';

const halves = [-(2 ** 31), 0];

/** Two shards: the first on the server itself, the second where nothing listens. */
async function openCluster(
  t: TestContext,
): Promise<{ readonly database: Database; readonly awayName: string }> {
  const database = await openTestDatabase(t, { template: null });
  const { host = '', port = 0 } = database.address;
  const away = { host: '127.0.0.1', port: await freePort() };
  await migrate(database);
  await stateCluster(database, [{ host, port }, away]);
  await database.place();
  return { database, awayName: `${away.host}:${away.port}` };
}

/** An account of a shard. */
function accountIn(database: Database, shard: number): number {
  for (let id = 1; ; id += 1) if (database.placement.partOf(id) === shard) return id;
}

test('a server that does not respond is named with its shards, and the others serve', async (t) => {
  const { database, awayName } = await openCluster(t);
  const events: string[] = [];
  const note = (event: string): void => void events.push(event);
  const log = { info: note, warn: note, error: note } as unknown as Log;
  const watch = new ServerWatch({ database, log, onLooked: () => {} });
  await watch.look();
  await watch.look();
  assert.deepEqual(events, ['database_server_away'], 'once');
  assert.deepEqual(
    database.placement.servers.map(({ name, parts, isAway }) => (isAway ? [name, parts] : parts)),
    [[0], [awayName, [1]]],
  );
  const readiness = new ReadinessCheck({
    database,
    clock: systemClock,
    isFresh: () => true,
    isStopping: () => false,
  });
  assert.deepEqual(await readiness.state(), { ready: true, shardsAway: [2] });
  const findings = await examineServers(database);
  assert.deepEqual(
    findings.map(({ ok }) => ok),
    [true, false],
  );
  assert.match(findings[1]?.message ?? '', new RegExp(`${awayName} does not respond: .*\\(2\\)`));
});

test('accounts of one server share an ordered connection, which those of another do not wait for', async (t) => {
  const { database } = await openCluster(t);
  const [here, there] = [accountIn(database, 0), accountIn(database, 1)];
  assert.notEqual(database.placement.orderedFor(here), database.placement.orderedFor(there));
  assert.equal(database.placement.ordered.length, 3, 'one more for what belongs to no account');
  const blocked = Promise.withResolvers<void>();
  const waiting = database.placement.orderedFor(there).inTurn(() => blocked.promise);
  const settled = await database.placement.settle(
    here,
    async (client) => (await client.query('SELECT 1')).rowCount,
  );
  assert.equal(settled, 1);
  let isRead = false;
  const read = database
    .readInOrder(there, (sql) => sql.query('SELECT 1'))
    .then(() => {
      isRead = true;
    });
  await database.readInOrder(here, (sql) => sql.query('SELECT 1'));
  assert.equal(isRead, false, 'it follows what was there before');
  blocked.resolve();
  await Promise.all([waiting, read]);
});

test('accounts of a shard with settlements of an earlier process are not read before these are in', async (t) => {
  const { database } = await openCluster(t);
  const [here, there] = [accountIn(database, 0), accountIn(database, 1)];
  const settled = Promise.withResolvers<void>();
  const queue = { part: 1, drained: settled.promise, isFailing: () => true };
  assert.deepEqual(await database.placement.drained([queue]), [1], 'a start does not wait for it');
  let isRead = false;
  const read = database
    .readInOrder(there, (sql) => sql.query('SELECT 1'))
    .then(() => {
      isRead = true;
    });
  await database.readInOrder(here, (sql) => sql.query('SELECT 1'));
  assert.equal(isRead, false);
  settled.resolve();
  await read;
});

test('credit expires in transactions of one shard', async (t) => {
  const { database } = await openCluster(t);
  const nowMs = systemClock.now();
  const ids = Array.from({ length: 20 }, (_, n) => n + 1);
  await database.query(
    `INSERT INTO account (name, created_at) SELECT 'a', now() FROM generate_series(1, ${ids.length})`,
  );
  await database.query('INSERT INTO account_balance (account_id) SELECT id FROM account');
  for (const accountId of ids) {
    const grant = { accountId, kind: 'topup', amount: krwOfMicro(5n), expiresAtMs: nowMs + 1_000 } as const;
    await grantCredit(database, { ...grant, idempotencyKey: null, memo: null }, nowMs);
  }
  assert.equal(await expireCredit(database, nowMs + 1_000), ids.length);
  const rows = await database.query<{ account_id: bigint; tx: string }>(
    'SELECT account_id, xmin::text AS tx FROM ledger WHERE kind = 4',
  );
  assert.equal(rows.length, ids.length);
  const shardsOf = Map.groupBy(rows, ({ tx }) => tx);
  for (const own of shardsOf.values())
    assert.equal(new Set(own.map((row) => database.placement.partOf(Number(row.account_id)))).size, 1);
  assert.equal(shardsOf.size, 2);
});

test('shards that moved are noticed', () => {
  const [one, two] = [
    { host: 'a', port: 1 },
    { host: 'b', port: 2 },
  ];
  const before = shardsFrom(halves, [one, two]);
  assert.deepEqual(serversOf(before), [
    { ...one, shards: [0] },
    { ...two, shards: [1] },
  ]);
  assert.ok(isSamePlacement(before, shardsFrom(halves, [one, two])));
  assert.ok(!isSamePlacement(before, shardsFrom(halves, [two, two])));
  assert.ok(!isSamePlacement(before, shardsFrom([-(2 ** 31)], [one])));
});

test('work at a server that is away delays nothing for long', async (t) => {
  const { placement } = (await openCluster(t)).database;
  let failures = 0;
  const failed = (): void => {
    failures += 1;
  };
  await placement.inTime(Promise.resolve(), failed);
  assert.equal(failures, 0);
  await placement.inTime(Promise.reject(new Error('away')), failed);
  assert.equal(failures, 1);
  const { promise, reject } = Promise.withResolvers<void>();
  await placement.inTime(promise, failed);
  assert.equal(failures, 2, 'when it is late');
  reject(new Error('away'));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(failures, 3, 'and when it fails after that');
});
