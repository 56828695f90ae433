/** `naru backup run`, `list` and `runs`: backups in the configured place, by hand and by the schedule. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { isBackupKey } from '../../src/config/backup-key.ts';
import { backupKey } from '../harness/backup-keys.ts';
import { createTestDatabase, type TestDatabase, urlOf } from '../harness/database.ts';
import { program } from '../harness/program.ts';
import { fullOnly } from '../harness/tier.ts';
import { eventually } from '../harness/until.ts';
import { createInstallation, type Installation } from './naru.ts';

const installations: Installation[] = [];
const databases: TestDatabase[] = [];
let source: Installation;
let place = '';

before(async () => {
  source = await installationWith({});
  place = join(source.folder, 'backups');
});
after(async () => {
  for (const installation of installations) installation.remove();
  for (const database of databases) await database.drop();
});

async function installationWith(backup: object): Promise<Installation> {
  const database = await createTestDatabase();
  databases.push(database);
  const installation = createInstallation();
  installations.push(installation);
  const configure = (tree: object): string =>
    installation.configure({ listen: { port: 0 }, database: { url: urlOf(database.address) }, ...tree });
  configure({ backup: { directory: 'backups', encryption_key: backupKey, ...backup } });
  return { ...installation, configure };
}

const configOf = ({ folder }: Installation): string => join(folder, 'naru.yaml');

test('a backup is made in the place, listed, recorded, and restored by its name', async () => {
  const config = ['--config', configOf(source)];
  await source.json('account', 'create', '--name', 'a', ...config);
  const made = await source.json('backup', 'run', ...config);
  assert.equal(made.code, 0, made.err);
  const [{ name, rows }] = made.rows;
  const listed = await source.json('backup', 'list', ...config);
  assert.deepEqual(
    listed.rows.map((row) => [row.name, row.rows, row.fault]),
    [[name, rows, null]],
  );
  assert.match(listed.rows[0].encryption, /^key age1[0-9a-z]{58}$/);
  const runs = await source.json('backup', 'runs', ...config);
  assert.deepEqual(
    runs.rows.map((row) => [row.kind, row.backup, row.place, row.result]),
    [['backup', name, place, 'ok']],
  );
  const anchored = await source.json('ledger', 'verify', '--against', name, ...config);
  assert.deepEqual([anchored.code, anchored.rows[0]?.ok], [0, true], anchored.err);

  const target = await installationWith({ directory: place });
  const restored = await target.json('restore', name, '--config', configOf(target));
  assert.deepEqual([restored.code, restored.rows[0]?.differences], [0, 0], restored.err);
});

test('a printed key is one of the configuration', async () => {
  const [{ key }] = (await source.json('backup', 'new-key')).rows;
  assert.ok(isBackupKey(key) && key !== backupKey);
});

test('a backup without encryption is rejected while there is a key, unless allowed', async () => {
  const plain = await installationWith({});
  plain.configure({ backup: { directory: 'backups' } });
  const config = ['--config', configOf(plain)];
  assert.equal((await plain.json('backup', 'run', ...config)).code, 0);
  const [{ name }] = (await plain.json('backup', 'list', ...config)).rows;
  const target = await installationWith({ directory: join(plain.folder, 'backups') });
  const refused = await target.run('restore', name, '--config', configOf(target));
  assert.equal(refused.code, 1);
  assert.match(refused.err, /is not encrypted although backup.encryption_key is set/);
  const allowed = await target.run('restore', name, '--unencrypted', '--config', configOf(target));
  assert.equal(allowed.code, 0, allowed.err);
});

test('without a place the commands name the missing member', async () => {
  const none = await installationWith({});
  none.configure({});
  for (const command of ['run', 'list']) {
    const { code, err } = await none.run('backup', command, '--config', configOf(none));
    assert.equal(code, 1);
    assert.match(err, /set backup.directory or backup.s3 in naru.yaml/);
  }
});

test('a server makes the first backup of its schedule by itself', fullOnly, async () => {
  const scheduled = await installationWith({ schedule: { every_hours: 1 } });
  const serving = await scheduled.up('--config', configOf(scheduled));
  try {
    const config = ['--config', configOf(scheduled)];
    const [run] = await eventually('the backup', 60_000, async () => {
      const { rows } = await scheduled.json('backup', 'runs', ...config);
      return rows.length > 0 && rows[0].result !== 'running' ? rows : null;
    });
    assert.equal(run.result, 'ok', run.error);
    assert.match(
      (await scheduled.run('doctor', ...config)).out,
      /backup.*the last good one is 0\.0 hours old/,
    );
    const drilled = await scheduled.json('backup', 'drill', ...config);
    assert.deepEqual([drilled.code, drilled.rows[0]?.name], [0, run.backup], drilled.err);
  } finally {
    await serving.stop();
  }
});

test('what a killed drill leaves, its server included, is removed by the next one', fullOnly, async () => {
  const killed = await installationWith({});
  const config = ['--config', configOf(killed)];
  assert.equal((await killed.run('backup', 'run', ...config)).code, 0);
  const args = [program(), 'backup', 'drill', '--data-dir', killed.dataDir, ...config];
  const child = spawn(process.execPath, args, { stdio: 'ignore' });
  const dir = join(killed.dataDir, 'backup-drill');
  await eventually('its server', 30_000, () => (existsSync(join(dir, 'postgres.log')) ? true : null));
  child.kill('SIGKILL');
  const drilled = await killed.json('backup', 'drill', ...config);
  assert.equal(drilled.code, 0, drilled.err);
  assert.equal(existsSync(dir), false);
  const results = (await killed.json('backup', 'runs', ...config)).rows.map((row) => row.error ?? row.result);
  assert.deepEqual(results, ['ok', 'the process ended before the run', 'ok']);
});
