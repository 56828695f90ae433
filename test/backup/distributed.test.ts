/** A backup of a distributed database restores into one database, and the other way round. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { checkBackup } from '../../src/backup/archive.ts';
import { folderFiles } from '../../src/backup/backup-files.ts';
import { restoreBackup } from '../../src/backup/restore-backup.ts';
import { takeBackup } from '../../src/backup/take-backup.ts';
import { exportEntries, verifyLedger } from '../../src/ledger/ledger.ts';
import { Database } from '../../src/store/database.ts';
import { readCluster } from '../../src/store/distribution.ts';
import { migrate } from '../../src/store/migrate.ts';
import { onlyDistributed } from '../harness/citus.ts';
import { createTestDatabase } from '../harness/database.ts';
import { openLedger } from '../ledger/world.ts';

async function openEmpty(t: TestContext, isDistributed: boolean): Promise<Database> {
  const own = await (isDistributed ? createTestDatabase() : createTestDatabase(null));
  const database = new Database(own.address);
  t.after(async () => {
    await database.close();
    await own.drop();
  });
  await migrate(database);
  assert.equal((await readCluster(database)).isDistributed, isDistributed);
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
      return restoreBackup(to, await checkBackup(files, null), false);
    };
    const stateOf = async (of: Database) => {
      const { differences, accounts, entries, generations } = await verifyLedger(of);
      assert.deepEqual(differences, []);
      return { accounts, entries, generations, lines: await Array.fromAsync(exportEntries(of, null)) };
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
