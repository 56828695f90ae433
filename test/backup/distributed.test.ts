/**
 * A distributed database is backed up, verified and exported by the servers that have its shards. Its
 * backup restores into one database, and the other way round.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { examineRetention } from '../../src/admin/doctor/findings.ts';
import { checkBackup } from '../../src/backup/archive.ts';
import { folderFiles } from '../../src/backup/backup-files.ts';
import { restoreBackup } from '../../src/backup/restore-backup.ts';
import { takeBackup } from '../../src/backup/take-backup.ts';
import { keepHours } from '../../src/generations/analytics/rolling-sql.ts';
import { ensurePartitions } from '../../src/generations/partitions.ts';
import { pruneGenerations } from '../../src/ledger/retention.ts';
import type { SettlementRow } from '../../src/ledger/settlement-sql.ts';
import { verifyLedger } from '../../src/ledger/verification.ts';
import { krwOfMicro } from '../../src/money/krw.ts';
import { exportEntries, exportGenerations } from '../../src/operations/exports.ts';
import { Database } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { readStatus } from '../../src/store/placement/distribution.ts';
import { onlyDistributed } from '../harness/citus.ts';
import { createTestDatabase } from '../harness/database.ts';
import { liftGuards, runEach } from '../harness/ledger-guards.ts';
import { folderWithNext } from '../harness/migrations.ts';
import { insertPrice } from '../harness/price.ts';
import { openLedger } from '../ledger/world.ts';

async function openEmpty(t: TestContext, isDistributed: boolean): Promise<Database> {
  const own = await (isDistributed ? createTestDatabase() : createTestDatabase(null));
  const database = new Database(own.address);
  t.after(async () => {
    await database.close();
    await own.drop();
  });
  await migrate(database);
  assert.equal((await readStatus(database)).isDistributed, isDistributed);
  return database;
}

test(
  'a backup of a distributed database restores into one database, and that into a distributed one',
  onlyDistributed('one server distributes nothing'),
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'naru-distributed-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const { database, operator, grant, generation, settle, clock } = await openLedger(t);
    await grant(1_000_000n);
    for (let n = 0; n < 20; n += 1) await operator.createAccount({ name: `account ${n}`, email: null });
    await settle(...Array.from({ length: 30 }, (_, n) => generation(BigInt(n))));
    const copy = async (from: Database, to: Database, name: string): Promise<number> => {
      const files = folderFiles(join(folder, name));
      const order = {
        files,
        version: '0',
        withoutNodes: [],
        key: null,
        signal: new AbortController().signal,
      };
      await takeBackup(from, { ...order, takenAt: new Date(clock.now()).toISOString() });
      const { manifest } = await checkBackup(files, null);
      const parts = manifest.tables.filter((table) => table.name === 'ledger').map(({ part }) => part);
      const { isDistributed, servers } = await readStatus(from);
      assert.deepEqual(
        parts,
        isDistributed ? Array.from({ length: servers }, (_, at) => at + 1) : [undefined],
      );
      return restoreBackup(to, await checkBackup(files, null), false);
    };
    const stateOf = async (of: Database) => {
      const { differences, accounts, entries, generations } = await verifyLedger(of);
      assert.deepEqual(differences, []);
      const lines = await Array.fromAsync(exportEntries(of, null));
      const records = await Array.fromAsync(exportGenerations(of, null));
      return { accounts, entries, generations, lines, records };
    };
    const wanted = await stateOf(database);
    assert.deepEqual([wanted.accounts, wanted.generations], [21, 30]);

    const plain = await openEmpty(t, false);
    const rows = await copy(database, plain, 'to-plain');
    assert.deepEqual(await stateOf(plain), wanted);

    const distributed = await openEmpty(t, true);
    assert.equal(await copy(plain, distributed, 'to-distributed'), rows);
    assert.deepEqual(await stateOf(distributed), wanted);
  },
);

test(
  'a backup and a verification beside calls and changes see each account, and what all share, at one moment',
  onlyDistributed('one server has one snapshot'),
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'naru-distributed-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const { database, operator, grant, generation, settle } = await openLedger(t);
    await grant(1_000_000_000n);
    let isEnding = false;
    const during = async (work: (n: number) => Promise<unknown>): Promise<number> => {
      let count = 0;
      for (; !isEnding; count += 1) await work(count);
      return count;
    };
    const price = { prompt: 1n, completion: 0n, request: 0n, cacheRead: 1n, cacheWrite: 1n };
    const load = Promise.all([
      // Over two servers: the coordinator and that of the shard.
      during(async (n) => {
        const accountId = await operator.createAccount({ name: `account ${n}`, email: null });
        await operator.grantCredit({
          accountId,
          kind: 'topup',
          amount: krwOfMicro(1_000n),
          expiresAtMs: null,
          idempotencyKey: null,
          memo: null,
        });
        await operator.createKey({
          accountId,
          kind: 'inference',
          name: 'key',
          limit: null,
          limitReset: 'never',
          expiresAtMs: null,
        });
      }),
      // On one: with a price that did not exist when a snapshot of the coordinator may have begun.
      during(async () => {
        const priceVersion = await insertPrice(database, price);
        await settle(generation(0n, { priceVersion }), generation(7n));
      }),
    ]);
    try {
      for (let n = 0; n < 5; n += 1) {
        assert.deepEqual((await verifyLedger(database)).differences, []);
        const files = folderFiles(join(folder, String(n)));
        await takeBackup(database, {
          files,
          takenAt: new Date().toISOString(),
          version: '0',
          withoutNodes: [],
          key: null,
          signal: new AbortController().signal,
        });
        const plain = await openEmpty(t, false);
        await restoreBackup(plain, await checkBackup(files, null), false);
        assert.deepEqual((await verifyLedger(plain)).differences, []);
        const [keys] = await plain.query<{ lost: bigint }>(
          'SELECT count(*) AS lost FROM key_directory d FULL JOIN api_key k ON k.id = d.key_id WHERE d.key_id IS NULL OR k.id IS NULL',
        );
        assert.equal(keys?.lost, 0n);
      }
    } finally {
      isEnding = true;
    }
    for (const count of await load) assert.ok(count > 20, `${count} changes`);
  },
);

test(
  'a verification by shard finds what was changed in any of them',
  onlyDistributed('one server has no shards'),
  async (t) => {
    const { database, operator, grant, generation, settle } = await openLedger(t);
    await grant(1_000_000n);
    await settle(generation(7n), generation(8n));
    const ids = [];
    for (let n = 0; n < 12; n += 1) {
      const accountId = await operator.createAccount({ name: `account ${n}`, email: null });
      const credit = { kind: 'topup', expiresAtMs: null, idempotencyKey: null, memo: null } as const;
      await operator.grantCredit({ ...credit, accountId, amount: krwOfMicro(5n) });
      ids.push(accountId);
    }
    const anchors = new Map(ids.map((id) => [id, { entries: 2n, chain: Buffer.alloc(32) }]));
    assert.equal((await verifyLedger(database)).differences.length, 0);
    const anchored = (await verifyLedger(database, anchors)).differences;
    assert.deepEqual(
      anchored.map(({ subject }) => subject).toSorted(),
      ids.map((id) => `account ${id}`).toSorted(),
    );
    await runEach(database, liftGuards);
    for (const id of ids)
      await database.query(
        'UPDATE account_balance SET balance = balance + 1, credits = credits + 1 WHERE account_id = $1',
        [id],
      );
    await database.query('UPDATE generation SET cost = cost + 1 WHERE cost = 7');
    const { differences, accounts, entries, generations } = await verifyLedger(database);
    assert.deepEqual([accounts, entries, generations], [13, 15, 2]);
    const changed = differences.filter(({ check }) => check.startsWith('balance of the account'));
    assert.deepEqual(
      changed.map(({ subject }) => subject).toSorted(),
      ids.map((id) => `account ${id}`).toSorted(),
    );
    assert.ok(differences.some(({ check }) => check === 'one entry of its cost for each billed generation'));
    assert.ok(
      differences.some(({ check }) => check.startsWith('a billed generation costs what its tokens cost')),
    );
  },
);

test(
  'a month that some shards have dropped is backed up, restores into one database, and is dropped there',
  onlyDistributed('one server distributes nothing: ledger/retention'),
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'naru-half-dropped-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const ledger = await openLedger(t);
    const { database, operator, clock } = ledger;
    clock.set('2026-03-10T12:00:00+09:00');
    await ensurePartitions(database, clock.now());
    const rows: SettlementRow[] = [];
    for (let n = 0; n < 24; n += 1) rows.push(ledger.generation(10n, await ledger.addPayer(`account ${n}`)));
    await ledger.settle(...rows);
    clock.set('2026-06-10T12:00:00+09:00');
    const options = { beforeMs: Date.parse('2026-04-01T00:00:00+09:00'), dryRun: false };
    let stored = 0;
    const keep = {
      lock: keepHours.lock,
      store: async (...args: Parameters<typeof keepHours.store>) => {
        stored += 1;
        if (stored === 5) throw new Error('the server is lost');
        await keepHours.store(...args);
      },
    };
    await assert.rejects(
      pruneGenerations(database, options, { nowMs: clock.now(), keep }),
      /the server is lost/,
    );
    const left = (await operator.verifyLedger()).generations;
    assert.ok(left > 0 && left < 24, `${left} of 24 records are left`);
    // An operator sees where the shards are meanwhile, and what to do.
    assert.equal((await readStatus(database)).shards.length, 8);
    const [finding] = await examineRetention(database);
    assert.match(finding?.message ?? '', /^those of 2026-03 are dropped in part: .* run it again$/);

    const plain = await openEmpty(t, false);
    const files = folderFiles(join(folder, 'half'));
    const takenAt = new Date(clock.now()).toISOString();
    const order = { files, version: '0', withoutNodes: [], key: null, signal: new AbortController().signal };
    await takeBackup(database, { ...order, takenAt });
    await restoreBackup(plain, await checkBackup(files, null), false);
    for (const each of [plain, database]) {
      assert.deepEqual((await verifyLedger(each)).differences, []);
      const outcome = await pruneGenerations(each, options, { nowMs: clock.now(), keep: keepHours });
      assert.deepEqual(outcome, {
        kind: 'pruned',
        months: [{ month: '2026-03', records: 24, costMicro: 240n }],
      });
      const { differences, generations } = await verifyLedger(each);
      assert.deepEqual([differences, generations], [[], 0]);
      assert.deepEqual(await each.query('SELECT FROM pruning_month'), []);
      assert.deepEqual(await examineRetention(each), []);
    }
  },
);

test(
  'a database that was distributed by an earlier version gets its new tables on every server',
  onlyDistributed('one server distributes nothing'),
  async (t) => {
    const database = await openEmpty(t, true);
    await database.query('DROP TABLE pruning_month');
    const folder = folderWithNext(
      t,
      'CREATE TABLE pruning_month (month date PRIMARY KEY, from_id uuid NOT NULL, to_id uuid NOT NULL)',
    );
    assert.deepEqual(await migrate(database, { folder }), ['9999-next']);
    const shared = await database.query(
      "SELECT FROM pg_dist_partition WHERE logicalrelid = 'pruning_month'::regclass AND partmethod = 'n'",
    );
    assert.equal(shared.length, 1);
  },
);
