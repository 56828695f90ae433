/**
 * `naru account invite`, `console`, `operator`, `session` and `audit`, as an operator uses them;
 * and what a backup has of it.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createTestDatabase } from '../harness/database.ts';
import { echoConfig } from '../harness/echo-config.ts';
import {
  createInstallation,
  createInstallationOn,
  type Installation,
  type Serving,
  systemUser,
} from './naru.ts';

let installation: Installation;
let serving: Serving;
let file: string;

before(async () => {
  installation = createInstallation({ hasCluster: true });
  file = installation.configure({ ...echoConfig('http://127.0.0.1:9/v1'), keys: { prefix: 'sk-other-' } });
  serving = await installation.up('--json', '--config', file);
});
after(async () => {
  await serving?.stop();
  installation?.remove();
});

const json = async (...args: readonly string[]) => {
  const { code, rows, err } = await installation.json(...args);
  assert.equal(code, 0, err);
  return rows;
};

const fails = async (message: RegExp, ...args: readonly string[]) => {
  const { code, err } = await installation.run(...args);
  assert.notEqual(code, 0);
  assert.match(err, message);
};

test('with --json every line is an object, the keys included; later commands find its configuration file', async () => {
  const [demo, listening] = serving
    .out()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.equal(demo.event, 'demo_account');
  assert.match(demo.key, /^sk-other-v1-/);
  assert.match(demo.dashboard_url, new RegExp(`^${serving.origin}/dashboard/link#[\\w-]{43}$`));
  assert.match(demo.console_url, new RegExp(`:${listening.admin_port}/console/link#[\\w-]{43}$`));
  assert.equal(listening.event, 'listening');
  assert.equal(listening.url, serving.origin);
  const [created] = await json('key', 'create', '--account', '1', '--name', 'x');
  assert.match(created.key, /^sk-other-v1-/);
});

test('an invitation is a link at the address of the running server', async () => {
  const { code, out } = await installation.run(
    'account',
    'invite',
    '--account',
    '1',
    '--email',
    'me@example.com',
  );
  assert.equal(code, 0);
  assert.match(
    out,
    new RegExp(`^${serving.origin}/dashboard/link#[\\w-]{43}\\n\\(works once, until .*\\)\\n$`),
  );
  const [row] = await json('account', 'invite', '--account', '1');
  assert.deepEqual([row.account_id, row.purpose], [1, 'invitation']);
  await fails(/no account 99/, 'account', 'invite', '--account', '99');
  await fails(/must be an e-mail address/, 'account', 'invite', '--account', '1', '--email', 'me');
});

test('an owner is replaced by a command, which needs an address and a reason', async () => {
  const { account_id: id } = (await json('account', 'create', '--name', 'handed over'))[0];
  const replace = (...flags: string[]) => ['account', 'replace-person', String(id), ...flags];
  const order = ['--email', 'joins@example.com', '--reason', 'left'];
  await fails(/has no owner yet; use naru account invite/, ...replace(...order));
  await fails(/required option '--reason/, ...replace('--email', 'joins@example.com'));
  const [invited] = await json('account', 'invite', '--account', String(id), '--email', 'leaves@example.com');
  const redeemed = await fetch(`${serving.origin}/dashboard/api/sign-in/link/redeem`, {
    method: 'POST',
    headers: { origin: serving.origin, 'content-type': 'application/json' },
    body: JSON.stringify({ token: invited.url.split('#')[1], password: 'correct horse battery' }),
  });
  assert.equal(redeemed.status, 200);
  await fails(/account \d+ has an owner/, 'account', 'invite', '--account', String(id));
  await fails(
    /is the address of the present owner/,
    ...replace('--email', 'leaves@example.com', '--reason', 'x'),
  );
  const [row] = await json(...replace(...order));
  assert.deepEqual([row.account_id, row.purpose], [id, 'reset']);
});

test('an account is renamed, closed and opened again, and its key limited, by commands', async () => {
  const { account_id: id } = (await json('account', 'create', '--name', 'leaves'))[0];
  await json('credit', 'grant', '--account', String(id), '--amount', '5');
  assert.equal((await json('account', 'rename', String(id), '--name', 'left'))[0].name, 'left');
  const [closed] = await json('account', 'close', String(id), '--reason', 'left');
  assert.deepEqual([closed.closed, closed.repeated, closed.balance_krw], [true, false, '5.000000']);
  assert.notEqual((await json('account', 'show', String(id)))[0].closed_at, null);
  await fails(/is closed/, 'key', 'create', '--account', String(id), '--name', 'k');
  await fails(/is closed/, 'credit', 'grant', '--account', String(id), '--amount', '5');
  await fails(/run naru account reopen first/, 'account', 'invite', '--account', String(id));
  assert.equal((await json('account', 'close', String(id), '--reason', 'left'))[0].repeated, true);
  assert.equal((await json('account', 'reopen', String(id), '--reason', 'back'))[0].closed, false);
  const [key] = await json('key', 'create', '--account', String(id), '--name', 'k');
  await fails(/state what to change/, 'key', 'limit', key.hash);
  const [limited] = await json('key', 'limit', key.hash, '--limit', '7.5', '--limit-reset', 'daily');
  assert.deepEqual([limited.limit_krw, limited.limit_reset], ['7.500000', 'daily']);
  assert.equal((await json('key', 'limit', key.hash, '--limit', 'none'))[0].limit_krw, null);
  const restrict = (...flags: string[]) => json('key', 'limit', key.hash, ...flags);
  const [restricted] = await restrict('--allowed-models', 'test/*', '--rpm-limit', '60');
  const { allowed_models: models, allowed_providers: providers, rpm_limit: perMinute } = restricted;
  assert.deepEqual([models, providers, perMinute], [['test/*'], null, 60]);
  assert.equal((await restrict('--allowed-models', 'none'))[0].allowed_models, null);
  await fails(/No model matches test\/none/, 'key', 'limit', key.hash, '--allowed-models', 'test/none');
  await fails(/No provider matches nobody/, 'key', 'limit', key.hash, '--allowed-providers', 'nobody');
  await fails(/whole number/, 'key', 'limit', key.hash, '--rpm-limit', '0');
  const restrictions = ['--allowed-models', 'test/echo', '--rpm-limit', '5'];
  const [other] = await json('key', 'create', '--account', String(id), '--name', 'k', ...restrictions);
  assert.deepEqual([other.allowed_models, other.rpm_limit], [['test/echo'], 5]);
});

test('a link to the console comes from the server, for the only operator or a named one', async () => {
  const [row] = await json('console');
  assert.deepEqual([row.operator, row.role], ['admin', 'admin']);
  assert.match(row.url, /^http:\/\/127\.0\.0\.1:\d+\/console\/link#[\w-]{43}$/);
  const [added] = await json('operator', 'add', '--name', '지원 팀', '--role', 'support');
  assert.deepEqual([added.name, added.role, added.purpose], ['지원 팀', 'support', 'console']);
  await fails(/several operators: pass --name with one of admin, 지원 팀/, 'console');
  assert.equal((await json('console', '--name', '지원 팀'))[0].operator, '지원 팀');
  await fails(/no operator absent/, 'console', '--name', 'absent');
});

// spec:operator/1.19
test('a token is created, listed without its plaintext, and revoked; it is no operator who signs in', async () => {
  const create = ['operator', 'token', 'create', '--name', 'billing', '--role', 'support', '--expires-at'];
  const soon = new Date(Date.now() + 3_600_000).toISOString();
  const [created] = await json(...create, soon);
  assert.match(created.token, /^naru_op_[\w-]{43}$/);
  const [listed] = await json('operator', 'token', 'list');
  assert.deepEqual([listed.name, listed.role, listed.token], ['billing', 'support', undefined]);
  await fails(/named billing already exists/, ...create, soon);
  await fails(/within 366 days/, ...create, '2020-01-01T00:00:00Z');
  await fails(/no operator billing/, 'operator', 'remove', 'billing');
  await fails(/no operator billing/, 'console', '--name', 'billing');
  await json('operator', 'token', 'revoke', 'billing', '--reason', 'replaced');
  await fails(/no token billing/, 'operator', 'token', 'revoke', 'billing');
});

test('operators are listed, changed and removed, and the last admin stays', async () => {
  await json('operator', 'add', '--name', 'temp');
  assert.equal(
    (await json('operator', 'role', 'temp', '--role', 'admin', '--reason', 'holiday'))[0].role,
    'admin',
  );
  await fails(/named TEMP already exists/, 'operator', 'add', '--name', 'TEMP');
  await json('operator', 'remove', 'temp', '--reason', 'back');
  await fails(/admin is the only admin/, 'operator', 'remove', 'admin');
  await fails(/no operator temp/, 'operator', 'remove', 'temp');
  assert.deepEqual(
    (await json('operator', 'list')).map(({ name }) => name),
    ['admin', '지원 팀'],
  );
});

// spec:operator/1.18
test('every act of a command is in the audit log with its person, the first start included', async () => {
  await json('credit', 'grant', '--account', '1', '--amount', '5', '--memo', 'for the log');
  const [created] = await json('key', 'create', '--account', '1', '--name', 'k');
  await json('key', 'suspend', created.hash, '--reason', 'abuse');
  await json('key', 'unsuspend', created.hash, '--reason', 'solved');
  await json('key', 'revoke', created.hash, '--reason', 'leaked');
  const acts = await json('audit', '--account', '1');
  const named = (act: string) => acts.find((row) => row.act === act);
  assert.equal(named('credit.grant').reason, 'for the log');
  assert.deepEqual(named('credit.grant').before, { balance_micro: '10000000000' });
  assert.deepEqual(named('credit.grant').after, {
    balance_micro: '10005000000',
    amount_micro: '5000000',
    kind: 'topup',
  });
  assert.deepEqual([named('key.suspend').subject, named('key.suspend').reason], [created.hash, 'abuse']);
  assert.deepEqual(named('key.suspend').before, { suspended: false });
  assert.equal(named('key.unsuspend').reason, 'solved');
  assert.equal(named('key.revoke').reason, 'leaked');
  assert.ok(acts.every(({ role }) => role === 'cli'));
  assert.equal(named('key.revoke').who, systemUser);
  await json('key', 'suspend', created.hash, '--as', '김 지원');
  assert.equal((await json('audit', '--account', '1'))[0].who, '김 지원');
  await json('console', '--name', 'admin', '--as', '이 담당');
  assert.equal((await json('audit', '--act', 'operator.link'))[0].who, '이 담당');
  assert.ok(acts.some(({ act, who }) => act === 'account.link' && who === 'naru up'));
  assert.deepEqual(
    (await json('audit', '--act', 'operator.role')).map(({ reason }) => reason),
    ['holiday'],
  );
  const text = JSON.stringify(await json('audit', '--lines', '1000'));
  for (const secret of [created.key, 'me@example.com']) assert.ok(!text.includes(secret));
});

test('sessions are listed and revoked', async () => {
  assert.deepEqual(await json('session', 'list'), []);
  await fails(/no session 7/, 'session', 'revoke', '7');
  await fails(/must be a session id/, 'session', 'revoke', 'x');
});

test('a backup has operators and the audit log, but no link that still works', async () => {
  const before = await json('audit', '--lines', '1000');
  const folder = join(installation.folder, 'backup');
  await json('backup', '--to', folder);
  // A restore into an embedded database: backup.test.ts.
  const database = await createTestDatabase();
  const copy = createInstallationOn(database.address);
  try {
    const restored = await copy.json('restore', folder);
    assert.equal(restored.code, 0, restored.err);
    assert.deepEqual(
      (await copy.json('operator', 'list')).rows.map(({ name }) => name),
      ['admin', '지원 팀'],
    );
    // spec:operator/1.18
    const [restore, ...kept] = (await copy.json('audit', '--lines', '1000')).rows;
    assert.deepEqual([restore.act, restore.who, kept], ['restore', systemUser, before]);
    const { out } = await copy.run('account', 'invite', '--account', '1');
    assert.match(
      out,
      /^http:\/\/127\.0\.0\.1:8787\/dashboard\/link#/,
      'without a server the configured address',
    );
    await assertNoRows(folder);
  } finally {
    copy.remove();
    await database.drop();
  }
});

async function assertNoRows(folder: string): Promise<void> {
  const { readdirSync } = await import('node:fs');
  const files = readdirSync(folder);
  assert.ok(files.includes('owner.copy.gz') && files.includes('audit_entry.copy.gz'));
  for (const table of ['page_session', 'operator_token', 'one_time_link', 'sign_in_step', 'sign_in_attempt'])
    assert.ok(!files.includes(`${table}.copy.gz`), table);
}
