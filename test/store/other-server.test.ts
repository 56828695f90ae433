/**
 * `naru up` on an external PostgreSQL server: with a password (SCRAM) and TLS, and with neither.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Client } from 'pg';
import { createInstallation, type Installation } from '../cli/naru.ts';
import { type OwnPostgres, ownBinDir, startOwnPostgres } from '../harness/own-postgres.ts';
import { byTier, fullOnly } from '../harness/tier.ts';

let postgres: OwnPostgres;
let installation: Installation;
let folder: string;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'naru-other-'));
  postgres = await startOwnPostgres(await ownBinDir(folder));
  installation = createInstallation();
});
after(async () => {
  installation?.remove();
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function query(sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new Client(postgres.address);
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

test('with a password and verified TLS it serves, bills, and every connection is encrypted', async () => {
  const serving = await installation.up(
    '--config',
    installation.configure({ database: { url: postgres.url } }),
  );
  try {
    const connections = await query(
      "SELECT ssl, auth FROM (SELECT s.ssl, a.usename AS auth FROM pg_stat_activity a JOIN pg_stat_ssl s USING (pid) WHERE a.application_name = 'naru') x",
    );
    assert.ok(connections.length > 0);
    assert.ok(connections.every(({ ssl, auth }) => ssl === true && auth === 'naru'));
    assert.equal((await fetch(`${serving.origin}/readyz`)).status, 200);
    const made = await installation.json('account', 'create', '--name', 'other');
    assert.equal(made.code, 0, made.err);
    assert.ok((await query('SELECT 1 FROM account')).length > 0);
    for (const output of [serving.out(), serving.err(), made.out, made.err])
      assert.ok(!output.includes(postgres.password), 'the password was printed');
  } finally {
    assert.equal(await serving.stop(), 0);
  }
});

test('a wrong password, an untrusted certificate and a rejected plain connection fail the start with a message without the password', async () => {
  const wrong = 'pw-wrong-5a1c';
  const starts = [
    [postgres.url.replace(postgres.password, wrong), /the password is wrong/],
    [postgres.url.replace(/&sslrootcert=[^&]*/, ''), /certificate/i],
    [postgres.url.replace(/\?.*$/, '?sslmode=disable'), /rejects this user|no encryption|pg_hba/],
    [postgres.url.replace(String(postgres.port), '1'), /nothing listens at that address/],
  ] as const;
  for (const [url, message] of starts.slice(0, byTier(2, starts.length))) {
    const ended = await installation.run(
      'up',
      '--port',
      '0',
      '--config',
      installation.configure({ database: { url } }),
    );
    assert.equal(ended.code, 1, ended.out);
    assert.match(ended.err, message);
    for (const secret of [postgres.password, wrong])
      assert.ok(!`${ended.out}${ended.err}`.includes(secret), ended.err);
    assert.doesNotMatch(ended.err, /\n\s+at /, 'a stack is no explanation');
  }
});

test('over a unix socket with peer authentication it serves as well', fullOnly, async () => {
  const { host, port } = postgres.address;
  const url = `postgres://naru@localhost:${port}/postgres?host=${encodeURIComponent(String(host))}`;
  const serving = await installation.up('--config', installation.configure({ database: { url } }));
  assert.equal((await fetch(`${serving.origin}/readyz`)).status, 200);
  assert.equal(await serving.stop(), 0);
});

test('settings that can lose an acknowledged charge are reported at the start and by the doctor, which then fails', async () => {
  const file = installation.configure({ database: { url: postgres.url } });
  const { code, rows } = await installation.json('doctor', '--config', file);
  const found = rows.find((row) => row.check === 'database');
  assert.equal(found.ok, false);
  assert.match(found.detail, /fsync is off: .*set fsync = on/);
  assert.equal(code, 1);
  const serving = await installation.up('--config', file);
  assert.equal(await serving.stop(), 0);
  assert.match(serving.err(), /"database_unsafe","detail":"fsync is off/);
});
