/** Backups in a bucket of a real S3-compatible server, which is slow to trust and easily away. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { checkBackup } from '../../src/backup/archive.ts';
import { type BackupPlace, MissingFile } from '../../src/backup/backup-files.ts';
import { BackupKey } from '../../src/backup/file-cipher.ts';
import { restoreBackup } from '../../src/backup/restore-backup.ts';
import { type BackupMade, runBackup } from '../../src/backup/run-backup.ts';
import { s3Place } from '../../src/backup/s3-place.ts';
import type { BackupConfig, S3Config } from '../../src/config/config.ts';
import { Secret } from '../../src/config/secret.ts';
import { silentLog } from '../../src/log/log.ts';
import { commandLine } from '../../src/operations/operator-service.ts';
import { Database } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { backupKey } from '../harness/backup-keys.ts';
import { createTestDatabase, type TestDatabase } from '../harness/database.ts';
import { TestClock } from '../harness/test-clock.ts';
import { type Cutter, type S3Server, startCutter, startS3Server } from './s3-server.ts';

const clock = new TestClock();
const signal = new AbortController().signal;
let server: S3Server;
let cutter: Cutter;
const databases: TestDatabase[] = [];
const opened: Database[] = [];

before(async () => {
  server = await startS3Server();
  cutter = await startCutter(server.port);
});
after(async () => {
  for (const database of opened) await database.close();
  for (const own of databases) await own.drop();
  await cutter?.close();
  await server?.stop();
});

function configFor(prefix: string, more: Partial<S3Config> = {}): S3Config {
  return {
    endpoint: cutter.endpoint,
    region: 'us-east-1',
    bucket: server.bucket,
    prefix,
    accessKeyId: new Secret('S3RVER'),
    secretAccessKey: new Secret('S3RVER'),
    pathStyle: true,
    allowHttp: false,
    ...more,
  };
}

const partBytes = 64 * 1024;
const placeFor = (prefix: string, more?: Partial<S3Config>): BackupPlace =>
  s3Place(configFor(prefix, more), { clock, signal, partBytes, retryMs: 5 });

async function* pieces(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += 10_000) yield bytes.subarray(at, at + 10_000);
}

async function stored(place: BackupPlace, file: string): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(place.open(name).read(file)));
}

const name = 'naru-backup-2026-11-24T03-00-00Z';

async function newDatabase(): Promise<Database> {
  const own = await createTestDatabase();
  databases.push(own);
  const database = new Database(own.address);
  opened.push(database);
  await migrate(database);
  return database;
}

test('a backup in a bucket is restored; old and interrupted ones are removed', async () => {
  const database = await newDatabase();
  const s3 = configFor('gateway/one');
  const backup: BackupConfig = {
    schedule: null,
    drill: null,
    directory: null,
    s3,
    keep: { count: 1, ageDays: null },
    encryptionKey: new Secret(backupKey),
    maxAgeHours: null,
  };
  const run = { backup, database, clock, log: silentLog, version: '1', actor: commandLine };
  const attempt = () => {
    clock.advance(1_000);
    return runBackup({ ...run, settledHomes: [], signal, retryMs: 2 });
  };
  const make = async (): Promise<BackupMade> => {
    const done = await attempt();
    assert.ok(done !== 'busy' && done.kind === 'made', JSON.stringify(done));
    return done;
  };
  const first = await make();
  // The store goes away in the middle, and is away for the cleaning up too.
  cutter.cut(1_000, 1, 20);
  const broken = await attempt();
  assert.ok(broken !== 'busy' && broken.kind === 'failed');
  assert.match(broken.error, /^s3:\/\/backups at 127/);
  cutter.cut(0, 0);
  const left = (await s3Place(s3, { clock, signal }).backups()).filter((one) => one !== first.name);
  assert.equal(left.length, 1);
  await assert.rejects(
    checkBackup(s3Place(s3, { clock, signal }).open(left[0] ?? ''), await BackupKey.of(backupKey)),
    /is an unfinished backup/,
  );
  const second = await make();
  assert.equal(second.place, 's3://backups/gateway/one');
  assert.deepEqual(second.removed, [first.name]);
  const found = s3Place(s3, { clock, signal });
  assert.deepEqual(await found.backups(), [second.name]);
  const opened = await checkBackup(found.open(second.name), await BackupKey.of(backupKey));
  assert.equal(await restoreBackup(await newDatabase(), opened, false), second.rows);
});

test('files of all sizes are stored and read, large ones in parts', async () => {
  const place = placeFor('sizes');
  for (const size of [1, partBytes - 1, partBytes, partBytes + 1, 3 * partBytes + 5]) {
    const bytes = randomBytes(size);
    await place.open(name).write(`f${size}`, pieces(bytes));
    assert.ok((await stored(place, `f${size}`)).equals(bytes), `${size} bytes`);
  }
  assert.equal((await place.open(name).list())?.length, 5);
  await place.remove(name);
  assert.equal(await place.open(name).list(), null);
  await assert.rejects(stored(place, 'f1'), MissingFile);
});

test('a connection that is reset half-way is retried, in both directions', async () => {
  const place = placeFor('reset');
  const bytes = randomBytes(3 * partBytes);
  cutter.cut(3, 2_000);
  await place.open(name).write('a', pieces(bytes));
  cutter.cut(2, 100);
  assert.ok((await stored(place, 'a')).equals(bytes));
});

test('a store that resets every connection fails the file, which is then not listed', async () => {
  const place = placeFor('broken');
  cutter.cut(1_000, 30_000);
  await assert.rejects(
    place.open(name).write('a', pieces(randomBytes(3 * partBytes))),
    /s3:\/\/backups at 127/,
  );
  cutter.cut(0, 0);
  assert.equal(await place.open(name).list(), null);
});

test('wrong credentials and a wrong bucket are named', async () => {
  const wrongId = placeFor('wrong', { accessKeyId: new Secret('nobody') });
  await assert.rejects(wrongId.backups(), /s3:\/\/backups at .* rejected GET: 403 InvalidAccessKeyId/);
  const wrongSecret = placeFor('wrong', { secretAccessKey: new Secret('wrong') });
  await assert.rejects(wrongSecret.backups(), /403 SignatureDoesNotMatch/);
  const noBucket = placeFor('wrong', { bucket: 'nothing' });
  await assert.rejects(noBucket.backups(), /404 NoSuchBucket/);
});

test('a store that is away is named', async () => {
  const endpoint = 'http://127.0.0.1:1';
  await assert.rejects(placeFor('away', { endpoint }).backups(), /s3:\/\/backups at 127.*ECONNREFUSED/);
});
