/**
 * Scheduled backups to a folder: they are restored and verified, wrong keys and damage are named,
 * old and interrupted ones are removed, and every run is recorded.
 */
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { examineBackups } from '../../src/admin/doctor/backups.ts';
import { checkBackup, readManifest } from '../../src/backup/archive.ts';
import { folderFiles, folderPlace } from '../../src/backup/backup-files.ts';
import { BackupJob } from '../../src/backup/backup-job.ts';
import { BackupKey } from '../../src/backup/file-cipher.ts';
import { restoreBackup } from '../../src/backup/restore-backup.ts';
import { markName } from '../../src/backup/retention.ts';
import { type BackupMade, type RunParts, runBackup } from '../../src/backup/run-backup.ts';
import { lockBackups, readRunSummaries, readRuns } from '../../src/backup/runs-sql.ts';
import type { BackupConfig } from '../../src/config/config.ts';
import { Secret } from '../../src/config/secret.ts';
import { OperatorError } from '../../src/errors/operator-error.ts';
import { verifyLedger } from '../../src/ledger/verification.ts';
import { silentLog } from '../../src/log/log.ts';
import { commandLine } from '../../src/operations/operator-service.ts';
import { disconnect } from '../../src/store/connection.ts';
import { Database } from '../../src/store/database.ts';
import { readDatabaseId } from '../../src/store/database-identity.ts';
import { migrate } from '../../src/store/migrate.ts';
import { sqlOver } from '../../src/store/sql.ts';
import { backupKey, otherBackupKey } from '../harness/backup-keys.ts';
import { unlessDistributed } from '../harness/citus.ts';
import { createTestDatabase, type TestDatabase } from '../harness/database.ts';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { TestClock } from '../harness/test-clock.ts';
import { byTier, sample } from '../harness/tier.ts';

let key: BackupKey;
const clock = new TestClock();
let naru: TestGateway;
let folder = '';
const databases: { readonly own: TestDatabase; readonly database: Database }[] = [];

before(async () => {
  key = await BackupKey.of(backupKey);
  naru = await startTestGateway();
  await naru.account({ credit: '1000' });
  folder = mkdtempSync(join(tmpdir(), 'naru-backups-'));
});
after(async () => {
  for (const { own, database } of databases) {
    await database.close();
    await own.drop();
  }
  await naru?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function newDatabase(): Promise<Database> {
  const own = await createTestDatabase();
  const database = new Database(own.address);
  databases.push({ own, database });
  await migrate(database);
  return database;
}

function configFor(directory: string, more: Partial<BackupConfig> = {}): BackupConfig {
  return {
    schedule: { everyHours: 24, atMinute: 180 },
    drill: null,
    directory,
    s3: null,
    keep: { count: 14, ageDays: null },
    encryptionKey: null,
    maxAgeHours: 26,
    ...more,
  };
}

function partsFor(backup: BackupConfig, more: Partial<RunParts> = {}): RunParts {
  const { database } = naru;
  const signal = new AbortController().signal;
  const base = { backup, database, clock, log: silentLog, version: '1.2.3', actor: commandLine };
  return { ...base, settledHomes: [], signal, ...more };
}

async function make(backup: BackupConfig): Promise<BackupMade> {
  // Names are by the second.
  clock.advance(1_000);
  const done = await runBackup(partsFor(backup));
  assert.ok(done !== 'busy' && done.kind === 'made', JSON.stringify(done));
  return done;
}

const reason = 'the tables of accounts have one file of each server: backup/distributed';

test(
  'an encrypted backup is restored and its ledger verifies; nothing in it is readable',
  unlessDistributed(reason),
  async () => {
    const directory = join(folder, 'encrypted');
    const made = await make(configFor(directory, { encryptionKey: new Secret(backupKey) }));
    const files = folderPlace(directory).open(made.name);
    const names = await files.list();
    assert.ok(names?.includes('account.copy.gz.age') && !names.includes(markName));
    const backup = await checkBackup(files, key);
    const target = await newDatabase();
    assert.equal(await restoreBackup(target, backup, false), made.rows);
    assert.deepEqual((await verifyLedger(target)).differences, []);
    assert.deepEqual(await readRuns(target, 10), [], 'the runs of the original are not in it');
    const [run] = await readRuns(naru.database, 1);
    assert.deepEqual(
      [run?.kind, run?.backup, run?.place, run?.bytes, run?.rows, run?.error],
      ['backup', made.name, directory, made.bytes, made.rows, null],
    );

    await assert.rejects(checkBackup(files, null), /is encrypted: state its key as backup.encryption_key/);
    await assert.rejects(
      checkBackup(files, await BackupKey.of(otherBackupKey)),
      /is encrypted with another key \(age1[0-9a-z]{58}\) than backup.encryption_key \(age1[0-9a-z]{58}\)/,
    );
  },
);

test(
  'in an encrypted backup every flipped byte, exchanged file and cut is found',
  unlessDistributed(reason),
  async () => {
    const directory = join(folder, 'flipped');
    const encryptionKey = new Secret(backupKey);
    const [one, other] = [
      await make(configFor(directory, { encryptionKey })),
      await make(configFor(directory, { encryptionKey })),
    ];
    const dir = join(directory, one.name);
    const codes = ['SHA256SUMS', 'manifest.json'];
    const tables = readdirSync(dir).filter((file) => !codes.includes(file));
    for (const file of [...codes, ...sample(tables, 4)]) {
      const bytes = readFileSync(join(dir, file));
      const step = Math.max(1, Math.floor(bytes.length / byTier(4, 8)));
      for (let at = 0; at < bytes.length; at += step) {
        const changed = Buffer.from(bytes);
        changed[at] = (bytes[at] ?? 0) ^ (1 << (at % 8));
        writeFileSync(join(dir, file), changed);
        await assert.rejects(checkBackup(folderFiles(dir), key), OperatorError, `${file}: byte ${at}`);
      }
      writeFileSync(join(dir, file), bytes.subarray(0, -1));
      await assert.rejects(checkBackup(folderFiles(dir), key), OperatorError, `${file} is cut`);
      writeFileSync(join(dir, file), bytes);
    }
    await checkBackup(folderFiles(dir), key);
    const exchanged = join(directory, 'exchanged');
    cpSync(dir, exchanged, { recursive: true });
    cpSync(join(directory, other.name, 'account.copy.gz.age'), join(exchanged, 'account.copy.gz.age'));
    await assert.rejects(checkBackup(folderFiles(exchanged), key), /account.copy.gz.age of .* is damaged/);
  },
);

test('a changed byte of a manifest is found by its own checksum, without the other files', async () => {
  const directory = join(folder, 'own-checksum');
  const made = await make(configFor(directory));
  const files = folderPlace(directory).open(made.name);
  assert.equal((await readManifest(files)).taken_at, made.takenAt);
  const file = join(directory, made.name, 'manifest.json');
  const text = readFileSync(file, 'utf8');
  for (const changed of [
    text.replace('"rows": 1', '"rows": 2'),
    text.replace('"1.2.3"', '"1.2.4"'),
    `${text}\n`,
  ]) {
    assert.notEqual(changed, text);
    writeFileSync(file, changed);
    await assert.rejects(readManifest(files), /manifest.json is damaged: its checksum does not match/);
  }
});

test('a manifest that was rewritten with valid checksums but without the key is found', async () => {
  const directory = join(folder, 'forged');
  const made = await make(configFor(directory, { encryptionKey: new Secret(backupKey) }));
  const dir = join(directory, made.name);
  const { digestOf } = await import('../../src/backup/manifest.ts');
  const file = join(dir, 'manifest.json');
  const own = /"sha256": "[0-9a-f]{64}"\n\}\n$/;
  const zeros = `"sha256": "${'0'.repeat(64)}"\n}\n`;
  const blank = readFileSync(file, 'utf8').replace('"naru": "1.2.3"', '"naru": "1.2.4"').replace(own, zeros);
  const text = blank.replace(own, zeros.replace('0'.repeat(64), digestOf(blank)));
  writeFileSync(file, text);
  await assert.rejects(checkBackup(folderFiles(dir), key), /was changed without the key/);
});

test('old backups of this database are removed, those of others and unknown folders stay', async () => {
  const directory = join(folder, 'kept');
  const keep = { count: 2, ageDays: null };
  const first = await make(configFor(directory));
  const foreign = join(directory, 'naru-backup-2020-01-01T00-00-00Z');
  cpSync(join(directory, first.name), foreign, { recursive: true });
  rmSync(join(foreign, 'manifest.json'));
  mkdirSync(join(directory, 'mine'));
  await make(configFor(directory, { keep }));
  const third = await make(configFor(directory, { keep }));
  assert.deepEqual(third.removed, [first.name]);
  const names = readdirSync(directory);
  assert.equal(names.length, 4);
  assert.ok(names.includes('mine') && names.includes('naru-backup-2020-01-01T00-00-00Z'));

  const other = await newDatabase();
  // Test databases are copies of one.
  await other.transaction((sql) => sql.query('UPDATE database_identity SET id = gen_random_uuid()'));
  clock.advance(1_000);
  const parts = partsFor(configFor(directory, { keep: { count: 1, ageDays: null } }), { database: other });
  const done = await runBackup(parts);
  assert.ok(done !== 'busy' && done.kind === 'made');
  assert.deepEqual(done.removed, [], 'they belong to another database');
});

test('an interrupted backup is not a backup, and the next run removes it', async () => {
  const directory = join(folder, 'interrupted');
  const made = await make(configFor(directory));
  const left = join(directory, 'naru-backup-2026-01-01T00-00-00Z');
  cpSync(join(directory, made.name), left, { recursive: true });
  rmSync(join(left, 'manifest.json'));
  writeFileSync(join(left, markName), `${await readDatabaseId(naru.database)}\n`);
  await assert.rejects(checkBackup(folderFiles(left), null), /is an unfinished backup/);
  const others = join(directory, 'naru-backup-2026-01-02T00-00-00Z');
  cpSync(left, others, { recursive: true });
  writeFileSync(join(others, markName), 'another-database\n');
  const next = await make(configFor(directory));
  assert.deepEqual(
    readdirSync(directory).toSorted(),
    ['naru-backup-2026-01-02T00-00-00Z', made.name, next.name],
    'one of another database may still run',
  );
});

test('a failed run is recorded with its reason and leaves nothing that looks like a backup', async () => {
  const directory = join(folder, 'aborted');
  clock.advance(1_000);
  const aborted = await runBackup(
    partsFor(configFor(directory), { signal: AbortSignal.abort(new Error('the server was stopped')) }),
  );
  assert.deepEqual(aborted, { kind: 'failed', error: 'the server was stopped' });
  assert.deepEqual(readdirSync(directory), []);
  const { backup } = await readRunSummaries(naru.database);
  assert.equal(backup.lastError, 'the server was stopped');
  assert.equal(backup.failedSince, 1);
  await make(configFor(directory));
  assert.equal((await readRunSummaries(naru.database)).backup.failedSince, 0);
});

test('of two servers one makes the backup that is due, once', async () => {
  const directory = join(folder, 'two');
  const database = await newDatabase();
  const drill = { dataDir: folder, uid: -1, env: {} };
  const config = () => configFor(directory);
  const parts = { config, database, clock, log: silentLog, version: '1', drill };
  const jobs = [await BackupJob.open(parts), await BackupJob.open(parts)];
  await Promise.all(jobs.map((job) => job.runDue()));
  await Promise.all(jobs.map((job) => job.runDue()));
  assert.equal((await readRuns(database, 10)).length, 1);
  assert.equal(readdirSync(directory).length, 1);
  clock.advance(25 * 3_600_000);
  for (const job of jobs) await job.runDue();
  assert.equal((await readRuns(database, 10)).length, 2);
  await Promise.all(jobs.map((job) => job.close()));
});

test('a backup of a clock that was wrong stops no other one, is removed before it, and is a fault until then', async () => {
  const directory = join(folder, 'future');
  const database = await newDatabase();
  const drill = { dataDir: folder, uid: -1, env: {} };
  const backup = configFor(directory, { keep: { count: 1, ageDays: null } });
  const wrong = new TestClock();
  wrong.advance(58 * 86_400_000);
  const parts = { config: () => backup, database, clock: wrong, log: silentLog, version: '1', drill };
  const job = await BackupJob.open(parts);
  await job.runDue();
  const [fault] = await examineBackups(backup, database);
  assert.equal(fault?.ok, false);
  assert.match(
    fault?.message ?? '',
    /^the last good one was taken 139[12]\.\d hours in the future, by a clock/,
  );
  wrong.advance(-58 * 86_400_000);
  await job.runDue();
  await job.runDue();
  const [run, early] = await readRuns(database, 10);
  assert.deepEqual(readdirSync(directory), [run?.backup]);
  assert.ok(Number(run?.startedAtMs) < Number(early?.startedAtMs));
  assert.equal((await examineBackups(backup, database))[0]?.ok, true);
  await job.close();
});

test('a run beside another one is refused, and the run of a process that ended is recorded as failed', async () => {
  const client = await naru.database.connect(10_000);
  assert.equal(await lockBackups(sqlOver(client)), true);
  assert.equal(await runBackup(partsFor(configFor(join(folder, 'busy')))), 'busy');
  await naru.database.transaction((sql) =>
    sql.query(
      "INSERT INTO backup_run (kind, place, backup, started_at) VALUES ('backup', 'p', 'interrupted', now())",
    ),
  );
  await disconnect(client);
  await make(configFor(join(folder, 'busy')));
  const run = (await readRuns(naru.database, 10)).find(({ backup }) => backup === 'interrupted');
  assert.equal(run?.error, 'the process ended before the run');
});

test('a place that cannot be used is named in the failure', async () => {
  const directory = join(folder, 'file', 'backups');
  writeFileSync(join(folder, 'file'), '');
  const done = await runBackup(partsFor(configFor(directory)));
  assert.ok(done !== 'busy' && done.kind === 'failed');
  assert.match(done.error, /not a directory.*file.backups/);
});
