/** The backup of a cluster has tables in parts, one of each server; restored, they are whole. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import {
  checkBackup,
  openBackup,
  readAnchors,
  readTable,
  writeManifest,
  writeTable,
} from '../../src/backup/archive.ts';
import { folderFiles } from '../../src/backup/backup-files.ts';
import { BackupKey } from '../../src/backup/file-cipher.ts';
import type { TableFile } from '../../src/backup/manifest.ts';
import { restoreBackup } from '../../src/backup/restore-backup.ts';
import { takeBackup } from '../../src/backup/take-backup.ts';
import { verifyLedger } from '../../src/ledger/verification.ts';
import { exportEntries } from '../../src/operations/exports.ts';
import { Database } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { backupKey } from '../harness/backup-keys.ts';
import { unlessDistributed } from '../harness/citus.ts';
import { createTestDatabase } from '../harness/database.ts';
import { openLedger } from '../ledger/world.ts';

const split = ['account', 'account_balance', 'generation', 'ledger'];

const reason = 'the tables of accounts have one file of each server: backup/distributed';

test(
  'a table in parts is restored as a whole, and its parts cannot be exchanged',
  unlessDistributed(reason),
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'naru-parts-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const { database, operator, grant, generation, settle, clock } = await openLedger(t);
    await grant(1_000_000n);
    for (let n = 0; n < 5; n += 1) await operator.createAccount({ name: `account ${n}`, email: null });
    await settle(...Array.from({ length: 30 }, (_, n) => generation(BigInt(n))));
    const key = await BackupKey.of(backupKey);
    const order = { key, takenAt: new Date(clock.now()).toISOString(), signal: new AbortController().signal };
    const whole = folderFiles(join(folder, 'whole'));
    await takeBackup(database, { ...order, files: whole, version: '0', withoutNodes: [] });

    const backup = await openBackup(whole, key);
    const parts = folderFiles(join(folder, 'parts'));
    const tables: TableFile[] = [];
    for (const table of backup.manifest.tables) {
      const lines = Buffer.concat(await Array.fromAsync(readTable(backup, table)))
        .toString()
        .split(/(?<=\n)/);
      const middle = split.includes(table.name) ? lines.length >> 1 : lines.length;
      for (const [at, rows] of [lines.slice(0, middle), lines.slice(middle)].entries()) {
        if (!split.includes(table.name) && at > 0) continue;
        const part = split.includes(table.name) ? at + 1 : undefined;
        const written = await writeTable(
          parts,
          { name: table.name, part, rows: Readable.from([Buffer.from(rows.join(''))]) },
          order,
        );
        const counted = part === undefined ? table.rows : rows.length;
        tables.push({ name: table.name, part, columns: table.columns, rows: counted, ...written });
      }
    }
    await writeManifest(parts, { ...backup.manifest, tables }, key);
    assert.equal((await parts.list())?.includes('ledger.2.copy.gz.age'), true);

    const own = await createTestDatabase(null);
    const target = new Database(own.address);
    t.after(async () => {
      await target.close();
      await own.drop();
    });
    await migrate(target);
    const rows = await restoreBackup(target, await checkBackup(parts, key), true);
    assert.equal(
      rows,
      backup.manifest.tables.reduce((sum, table) => sum + table.rows, 0),
    );
    const { differences, accounts, generations } = await verifyLedger(target, await readAnchors(parts, key));
    assert.deepEqual([differences, accounts, generations], [[], 6, 30]);
    const lines = (of: Database) => Array.fromAsync(exportEntries(of, null));
    assert.deepEqual(await lines(target), await lines(database));

    const [one, two] = ['ledger.1.copy.gz.age', 'ledger.2.copy.gz.age'] as const;
    const bytes = { [one]: await bytesOf(parts, one), [two]: await bytesOf(parts, two) };
    await parts.write(one, Readable.from([bytes[two]]));
    await parts.write(two, Readable.from([bytes[one]]));
    await assert.rejects(checkBackup(parts, key), /ledger\.1\.copy\.gz\.age of .*damaged/);
  },
);

async function bytesOf(files: ReturnType<typeof folderFiles>, file: string): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(files.read(file)));
}
