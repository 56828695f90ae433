/**
 * The settings of an external server must not cost an acknowledged charge: sessions set what they
 * need, the rest is reported.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Database } from '../../src/store/database.ts';
import { durabilityFaults, readDurability } from '../../src/store/durability.ts';
import { HistoryChanged, HistoryWatch } from '../../src/store/history-watch.ts';
import { readReplication } from '../../src/store/replication.ts';
import { type OwnPostgres, ownBinDir, startOwnPostgres } from '../harness/own-postgres.ts';

let folder: string;
let postgres: OwnPostgres;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'naru-durability-'));
  // The WAL writer sleeps: what no commit flushes stays in memory until the server dies.
  const settings = { fsync: 'on', synchronous_commit: 'off', wal_writer_delay: '10s' };
  postgres = await startOwnPostgres(await ownBinDir(folder), ['--locale=C'], settings);
});
after(async () => {
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const shown = "SELECT current_setting('synchronous_commit') AS value";

/** What synchronous_commit is in each kind of session that the gateway opens. */
async function settingsOf(database: Database): Promise<readonly string[]> {
  const pooled = await database.query<{ value: string }>(shown);
  const inTransaction = await database.transaction((sql) => sql.query<{ value: string }>(shown));
  const inOrder = await database.readInOrder(1, (sql) => sql.query<{ value: string }>(shown));
  const client = await database.connect(5_000);
  const own = await client.query<{ value: string }>(shown);
  await client.end();
  return [...pooled, ...inTransaction, ...inOrder, ...own.rows].map(({ value }) => value);
}

test('committed rows survive a crash of a server that has synchronous_commit off', async () => {
  const database = new Database(postgres.address);
  try {
    await database.transaction((sql) => sql.query('CREATE TABLE charge (id int)'));
    for (let id = 1; id <= 5; id += 1)
      await database.transaction((sql) => sql.query(`INSERT INTO charge VALUES (${id})`));
    await database.serial.run((_sql, client) => client.query('INSERT INTO charge VALUES (6)'));
    await postgres.crash();
    const rows = await database.query<{ n: bigint }>('SELECT count(*) AS n FROM charge');
    assert.equal(rows[0]?.n, 6n);
  } finally {
    await database.close();
  }
});

for (const [configured, expected] of [
  ['off', 'on'],
  ['local', 'on'],
  ['remote_write', 'on'],
  ['on', 'on'],
  ['remote_apply', 'remote_apply'],
] as const) {
  test(`every session commits with ${expected} where the server has ${configured}`, async () => {
    const admin = new Database(postgres.address, 1);
    await admin.query(`ALTER ROLE naru SET synchronous_commit = ${configured}`);
    await admin.close();
    const database = new Database(postgres.address, 2);
    try {
      assert.deepEqual(await settingsOf(database), [expected, expected, expected, expected]);
    } finally {
      await database.close();
    }
  });
}

test('a server that keeps what it acknowledged has no fault; each setting that does not is one', async () => {
  const database = new Database(postgres.address, 1);
  const read = await readDurability(database);
  await database.close();
  assert.deepEqual(durabilityFaults(read), []);
  for (const [change, message] of [
    [{ fsync: 'off' }, /fsync is off/],
    [{ fullPageWrites: 'off' }, /full_page_writes is off/],
    [{ synchronousCommit: 'local' }, /synchronous_commit is local/],
    [{ isStandby: true }, /a standby and takes no writes/],
    [
      { standbys: 2 },
      /2 standbys replicate asynchronously: .* credits, keys and accounts \(charges are settled again/,
    ],
    [{ standbys: 2, hiddenStandbys: 2 }, /keep what is settled for 600 s and no longer: GRANT pg_monitor/],
  ] as const) {
    const faults = durabilityFaults({ ...read, ...change });
    assert.equal(faults.length, 1);
    assert.match(faults[0] ?? '', message);
  }
  assert.deepEqual(durabilityFaults({ ...read, standbys: 1, synchronousStandbys: 'standby' }), []);
  assert.match(durabilityFaults({ ...read, standbys: 1, hiddenStandbys: 1 }, 0).join(), /loses the charges/);
});

test('a server that crashed or was restarted continues its history; one that was set back has another', async () => {
  const database = new Database(postgres.address, 1);
  const changes: string[] = [];
  const watch = new HistoryWatch(({ message }) => void changes.push(message));
  try {
    await database.transaction((sql) => sql.query('CREATE TABLE noise (text text)'));
    const commit = () =>
      database.transaction((sql) =>
        sql.query("INSERT INTO noise SELECT repeat('x', 1000) FROM generate_series(1, 50)"),
      );
    for (let round = 0; round < 3; round += 1) {
      await commit();
      await Promise.all([watch.look(database), watch.look(database)]);
      await postgres.crash();
      await watch.look(database);
    }
    let copy = '';
    await postgres.restart((data) => {
      copy = `${data}-before`;
      execFileSync('cp', ['-a', data, copy]);
    });
    await watch.look(database);
    await commit();
    await watch.look(database);
    assert.deepEqual(changes, []);
    await postgres.restart((data) => {
      rmSync(data, { recursive: true });
      renameSync(copy, data);
    });
    await assert.rejects(watch.look(database), HistoryChanged);
    await assert.rejects(watch.look(database), HistoryChanged);
    assert.equal(changes.length, 1);
    assert.match(changes[0] ?? '', /the log of the database ends at \d+, and had reached \d+ before/);
  } finally {
    await database.close();
  }
});

test('an asynchronous standby is detected, and so is a server that is a standby', async () => {
  const standby = await postgres.addStandby();
  const [primary, copy] = [new Database(postgres.address, 1), new Database(standby.address, 1)];
  try {
    const limit = AbortSignal.timeout(30_000);
    while ((await readDurability(primary)).standbys === 0) limit.throwIfAborted();
    assert.match(
      durabilityFaults(await readDurability(primary)).join(),
      /one standby replicates asynchronously/,
    );
    assert.match(durabilityFaults(await readDurability(copy)).join(), /a standby and takes no writes/);
    const known = await readReplication(primary);
    assert.match(known?.history ?? '', /^\d+\/00000001$/);
    await seen(primary, 'SELECT 1 FROM pg_stat_replication WHERE flush_lsn = pg_current_wal_flush_lsn()');
    const [flushed] = (await readReplication(primary))?.standbys ?? [];
    assert.ok(flushed !== undefined && flushed !== null && flushed >= (known?.position ?? 0n));
    assert.deepEqual(await readReplication(copy), { history: null, position: null, standbys: [] });
    await primary.query('CREATE ROLE plain LOGIN');
    const plain = new Database({ ...postgres.address, user: 'plain' }, 1);
    try {
      const hidden = await readReplication(plain);
      assert.deepEqual([hidden?.history, hidden?.standbys], [known?.history, [null]]);
      assert.match(durabilityFaults(await readDurability(plain)).join(), /GRANT pg_monitor/);
    } finally {
      await plain.close();
    }
  } finally {
    await primary.close();
    await copy.close();
    await standby.stop();
  }
});

test('a commit waits for the synchronous standby also where the server has the setting local, and survives a failover to it', async () => {
  const standby = await postgres.addStandby();
  const [primary, copy] = [new Database(postgres.address, 1), new Database(standby.address, 1)];
  const gateway = new Database(postgres.address);
  try {
    await primary.query('ALTER ROLE naru SET synchronous_commit = local');
    await primary.query("ALTER SYSTEM SET synchronous_standby_names = 'standby'");
    await primary.query('SELECT pg_reload_conf()');
    await seen(primary, "SELECT 1 AS yes FROM pg_stat_replication WHERE sync_state = 'sync'");
    assert.deepEqual(durabilityFaults(await readDurability(primary)), []);
    const [receiver] = await copy.query<{ pid: number }>('SELECT pid FROM pg_stat_wal_receiver');
    assert.ok(receiver !== undefined);
    process.kill(receiver.pid, 'SIGSTOP');
    let isCommitted = false;
    const committing = gateway
      .transaction((sql) => sql.query('INSERT INTO charge VALUES (7)'))
      .then(() => (isCommitted = true));
    await seen(primary, "SELECT 1 AS yes FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
    assert.equal(isCommitted, false, 'it waits for the standby');
    process.kill(receiver.pid, 'SIGCONT');
    await committing;
    await postgres.lose();
    await standby.promote();
    const rows = await copy.query<{ n: bigint }>('SELECT count(*) AS n FROM charge WHERE id = 7');
    assert.equal(rows[0]?.n, 1n);
  } finally {
    for (const database of [primary, copy, gateway]) await database.close();
  }
});

/** Waits until a query has a result. */
async function seen(database: Database, sql: string): Promise<void> {
  const limit = AbortSignal.timeout(30_000);
  while ((await database.query(sql)).length === 0) limit.throwIfAborted();
}
