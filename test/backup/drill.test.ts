/** A drill restores the newest backup into a PostgreSQL server of its own, and records the result. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BackupJob } from '../../src/backup/backup-job.ts';
import { runBackup } from '../../src/backup/run-backup.ts';
import { runDrill } from '../../src/backup/run-drill.ts';
import { readRunSummaries, readRuns } from '../../src/backup/runs-sql.ts';
import type { BackupConfig } from '../../src/config/config.ts';
import { Secret } from '../../src/config/secret.ts';
import { silentLog } from '../../src/log/log.ts';
import { commandLine } from '../../src/operations/operator-service.ts';
import { backupKey } from '../harness/backup-keys.ts';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { TestClock } from '../harness/test-clock.ts';
import { fullOnly } from '../harness/tier.ts';
import { eventually } from '../harness/until.ts';

const clock = new TestClock();
let naru: TestGateway;
let folder = '';

before(async () => {
  naru = await startTestGateway();
  await naru.account({ credit: '1000' });
  folder = mkdtempSync(join(tmpdir(), 'naru-drill-'));
});
after(async () => {
  await naru?.close();
  rmSync(folder, { recursive: true, force: true });
});

const means = () => ({ dataDir: folder, uid: process.getuid?.() ?? -1, env: process.env });

function configFor(name: string): BackupConfig {
  return {
    schedule: { everyHours: 24, atMinute: 180 },
    drill: { schedule: { everyHours: 168, atMinute: 240 } },
    directory: join(folder, name),
    s3: null,
    keep: { count: 14, ageDays: null },
    encryptionKey: new Secret(backupKey),
    maxAgeHours: 26,
  };
}

function partsFor(backup: BackupConfig, signal = new AbortController().signal) {
  const { database } = naru;
  return { backup, database, clock, signal };
}

async function make(backup: BackupConfig): Promise<string> {
  clock.advance(1_000);
  const more = { log: silentLog, version: '1', actor: commandLine, settledHomes: [] };
  const done = await runBackup({ ...partsFor(backup), ...more });
  assert.ok(done !== 'busy' && done.kind === 'made', JSON.stringify(done));
  return done.name;
}

const assertNothingLeft = (): void => assert.ok(!readdirSync(folder).includes('backup-drill'));

test('without a backup there is nothing to restore, and nothing is recorded', async () => {
  assert.equal(await runDrill(partsFor(configFor('none')), means()), 'nothing');
  assert.deepEqual(await readRuns(naru.database, 10), []);
});

test('a place that cannot be read fails the drill, and the failure is recorded', async () => {
  writeFileSync(join(folder, 'file'), '');
  const done = await runDrill(partsFor(configFor('file/below')), means());
  assert.ok(typeof done === 'object' && done.kind === 'failed');
  assert.match(done.error, /not a directory/);
  assert.equal((await readRuns(naru.database, 1))[0]?.error, done.error);
  clock.advance(1_000);
});

test('a drill of a damaged backup fails, and the failure is recorded', async () => {
  const backup = configFor('damaged');
  const name = await make(backup);
  truncateSync(join(folder, 'damaged', name, 'SHA256SUMS'), 10);
  const done = await runDrill(partsFor(backup), means());
  assert.ok(typeof done === 'object' && done.kind === 'failed');
  assert.match(done.error, /the checksums of .* do not match/);
  const { drill } = await readRunSummaries(naru.database);
  assert.deepEqual([drill.failedSince, drill.lastError], [2, done.error]);
  assertNothingLeft();
});

test('a backup without encryption fails the drill while there is a key', async () => {
  const backup = configFor('plain');
  await make({ ...backup, encryptionKey: null });
  const done = await runDrill(partsFor(backup), means());
  assert.ok(typeof done === 'object' && done.kind === 'failed');
  assert.match(done.error, /is not encrypted although backup.encryption_key is set/);
});

test(
  'the scheduled drill restores and verifies the newest backup, and leaves nothing',
  fullOnly,
  async () => {
    const parts = { database: naru.database, clock, log: silentLog, version: '1', drill: means() };
    clock.advance(8 * 24 * 3_600_000);
    const job = await BackupJob.open({ ...parts, config: () => configFor('good') });
    await job.runDue();
    const [drill, backup] = await readRuns(naru.database, 2);
    assert.deepEqual([drill?.kind, drill?.error, drill?.backup], ['drill', null, backup?.backup]);
    assert.equal(drill?.rows, backup?.rows);
    assert.equal(job.summaries.drill.failedSince, 0);
    await job.runDue();
    assert.equal((await readRuns(naru.database, 1))[0]?.id, drill?.id, 'once a week');
    await job.close();
    assertNothingLeft();
  },
);

test('a drill that is aborted ends at once and leaves nothing', fullOnly, async () => {
  const backup = configFor('aborted');
  await make(backup);
  const stopping = new AbortController();
  const running = runDrill(partsFor(backup, stopping.signal), means());
  await eventually('its server', 30_000, () => {
    const left = readdirSync(folder).includes('backup-drill')
      ? readdirSync(join(folder, 'backup-drill'))
      : [];
    return left.includes('postgres.log') ? true : null;
  });
  stopping.abort(new Error('the server was stopped'));
  assert.deepEqual(await running, { kind: 'failed', error: 'the server was stopped' });
  assertNothingLeft();
});

test('a ledger that does not verify fails the drill', fullOnly, async () => {
  await naru.database.transaction(async (sql) => {
    await sql.query('ALTER TABLE account_balance DISABLE TRIGGER USER');
    await sql.query('UPDATE account_balance SET entries = entries + 1');
  });
  const backup = configFor('differs');
  await make(backup);
  const done = await runDrill(partsFor(backup), means());
  assert.ok(typeof done === 'object' && done.kind === 'failed');
  assert.match(done.error, /the restored ledger has \d+ differences, the first: /);
  assertNothingLeft();
});
