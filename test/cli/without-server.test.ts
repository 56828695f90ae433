import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createTestDatabase, type TestDatabase } from '../harness/database.ts';
import { byTier, sample } from '../harness/tier.ts';
import { createInstallation, createInstallationOn, type Installation, messagesOf, naru } from './naru.ts';

/* Commands without a server: each starts the embedded database for itself, and stops it. */

let installation: Installation;
/** For what does not depend on the start of a database. */
let onServer: Installation;
let database: TestDatabase;

before(async () => {
  installation = createInstallation({ hasCluster: true });
  database = await createTestDatabase();
  onServer = createInstallationOn(database.address);
  assert.equal((await onServer.json('account', 'create', '--name', 'x')).rows[0].account_id, 1);
});
after(async () => {
  installation?.remove();
  onServer?.remove();
  await database?.drop();
});

test('a command without a server starts the database, does its work and stops it', async () => {
  const created = await installation.json('account', 'create', '--name', '혼자', '--email', 'a@example.com');
  assert.equal(created.code, 0, created.err);
  assert.deepEqual(created.rows, [{ account_id: 1, name: '혼자', email: 'a@example.com' }]);
  assert.equal(existsSync(join(installation.dataDir, 'naru.lock.json')), false);
  const cluster = existsSync(join(installation.dataDir, 'postgres.location'))
    ? readFileSync(join(installation.dataDir, 'postgres.location'), 'utf8').trim()
    : join(installation.dataDir, 'postgres');
  assert.equal(existsSync(join(cluster, 'postmaster.pid')), false);
});

test('the next command reads what one command wrote', async () => {
  const granted = await installation.json(
    'credit',
    'grant',
    '--account',
    '1',
    '--amount',
    '5000',
    '--memo',
    '첫 입금',
  );
  assert.equal(granted.code, 0, granted.err);
  const [entry] = (await installation.json('ledger', 'export')).rows;
  assert.deepEqual(
    { kind: entry.kind, amount: entry.amount_krw, memo: entry.memo, generation: entry.generation_id },
    { kind: 'topup', amount: '5000.000000', memo: '첫 입금', generation: null },
  );
});

/**
 * What a command printed to stderr without the lines that appear when the database is slow to
 * start.
 */
const withoutProgress = (err: string): string => err.replace(/^naru: waiting for .*\n/gm, '');

test('two concurrent commands wait for each other', async () => {
  const names = byTier(['가', '나'], ['가', '나', '다']);
  const made = await Promise.all(names.map((name) => installation.json('account', 'create', '--name', name)));
  assert.deepEqual(
    made.map(({ code, err }) => [code, withoutProgress(err)]),
    names.map(() => [0, '']),
  );
  const listed = (await installation.json('account', 'list')).rows.map((row) => row.name);
  assert.deepEqual(listed.toSorted(), ['혼자', ...names].toSorted());
});

// spec:operator/1.3
test('an object that does not exist is a one-line error with exit code 1', async () => {
  const hash = 'ab'.repeat(32);
  const noAccount = 'no account 99';
  const commands: readonly (readonly [args: readonly string[], message: string])[] = [
    [['account', 'show', '99'], noAccount],
    [['credit', 'grant', '--account', '99', '--amount', '1'], noAccount],
    [['key', 'create', '--account', '99', '--name', 'x'], noAccount],
    [['key', 'list', '--account', '99'], noAccount],
    [['ledger', 'export', '--account', '99'], noAccount],
    [['generation', 'export', '--account', '99'], noAccount],
    [['key', 'suspend', hash], `no key with hash ${hash}`],
  ];
  for (const [args, message] of sample(commands, 3)) {
    const { code, out, err } = await installation.run(...args);
    assert.deepEqual([code, out, withoutProgress(err)], [1, '', `naru: ${message}\n`]);
  }
});

test('the largest limit of the API is stored', async () => {
  const order = ['--account', '1', '--name', 'most', '--limit', '1e15'];
  const { rows, err } = await onServer.json('key', 'create', ...order);
  assert.equal(rows[0]?.limit_krw, '1000000000000000.000000', err);
});

test('credit or a key with an expiry in the past is created, with a warning', async () => {
  const past = ['--expires-at', '2020-01-01T00:00:00Z'];
  const credit = await onServer.run('credit', 'grant', '--account', '1', '--amount', '5', ...past);
  const key = await onServer.run('key', 'create', '--account', '1', '--name', 'late', ...past);
  assert.deepEqual(
    [credit, key].map(({ code, err }) => [code, err]),
    [
      [0, 'naru: warning: --expires-at is in the past; the credit expires immediately\n'],
      [0, 'naru: warning: --expires-at is in the past; the key will always be rejected\n'],
    ],
  );
  const soon = await onServer.run(
    'key',
    'create',
    '--account',
    '1',
    '--name',
    'k',
    '--expires-at',
    '2090-01-01T00:00:00Z',
  );
  assert.equal(soon.err, '');
});

test('a data directory that cannot be created is an error at once, and no data is touched', async () => {
  const commands = [
    ['account', 'list', '--data-dir', '/proc/naru/data'],
    ['up', '--port', '0', '--data-dir', '/proc/naru'],
    ['models', 'refresh', '--data-dir', '/proc/naru'],
    ['backup', '--data-dir', installation.dataDir, '--to', '/proc/naru/backup'],
  ];
  for (const command of commands) {
    const { code, out, err } = await naru(...command);
    assert.deepEqual([code, out], [1, ''], err);
    const text = command[0] === 'up' ? `naru: ${messagesOf(err)}` : err;
    assert.match(text, /^naru: [^\n]*\/proc\/naru[^\n]*\n$/);
  }
});

test('PostgreSQL variables of the environment do not apply to the embedded server', async () => {
  process.env['PGSSLMODE'] = 'require';
  process.env['PGSSLNEGOTIATION'] = 'direct';
  try {
    const { code, err } = await installation.run('account', 'list');
    assert.equal(code, 0, err);
  } finally {
    delete process.env['PGSSLMODE'];
    delete process.env['PGSSLNEGOTIATION'];
  }
});

test('an idempotency key is as long as a name at most: the index of the ledger has no room for more', async () => {
  const order = ['credit', 'grant', '--account', '1', '--amount', '1', '--idempotency-key'];
  // Incompressible for an index: three bytes each, without a repetition.
  const most = Array.from({ length: 500 }, (_, n) =>
    String.fromCharCode(0xac00 + ((n * 7919) % 11_171)),
  ).join('');
  assert.equal((await onServer.run(...order, most)).code, 0);
  const beyond = await onServer.run(...order, `${most}가`);
  assert.equal(beyond.code, 2);
  assert.match(beyond.err, /must be well-formed text of at most 500 characters/);
});

test('an invalid file in place of one of ours in the data directory is a one-line error or ignored', async () => {
  const dataDir = join(installation.folder, 'notes');
  const list = () => naru('account', 'list', '--data-dir', dataDir);
  mkdirSync(dataDir);
  for (const note of ['null', '[1, {"models": 5}]', '{}']) {
    writeFileSync(join(dataDir, 'found-engines.json'), note);
    const { code, err } = await naru('config', 'check', '--data-dir', dataDir);
    assert.deepEqual([code, err], [0, ''], note);
  }
  for (const name of ['naru.lock.json', 'config-file']) {
    mkdirSync(join(dataDir, name, 'x'), { recursive: true });
    const { code, err } = await list();
    assert.equal(code, 1);
    assert.match(err, /^naru: [^\n]*(cannot read|cannot be written to)[^\n]*: [^\n]*\n$/);
    rmSync(join(dataDir, name), { recursive: true });
  }
});
