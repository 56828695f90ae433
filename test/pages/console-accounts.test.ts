/** Accounts and keys in the console: what operators see agrees with the owner's pages and the API, and acts happen once. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { type KeyHash, parseKeyHash } from '../../src/accounts/api-key.ts';
import { krwOfMicro } from '../../src/money/krw.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { PageBrowser, TestSessions } from '../harness/pages.ts';
import { eventually, until } from '../harness/until.ts';
import { startUpstream, type Upstream } from '../harness/upstream.ts';

const sessions = new TestSessions();
let upstream: Upstream;
let gateway: TestGateway;
let account: TestAccount;
let admin: PageBrowser;
let support: PageBrowser;
let viewer: PageBrowser;

before(async () => {
  upstream = await startUpstream();
  gateway = await startTestGateway({ sessions, models: [{ id: 'a/b', upstreams: [upstream.url] }] });
  account = await gateway.account();
  const origin = `http://127.0.0.1:${gateway.gateway.admin.port}`;
  admin = new PageBrowser(origin, 'console', sessions.operator('admin'));
  support = new PageBrowser(origin, 'console', sessions.operator('support'));
  viewer = new PageBrowser(origin, 'console', sessions.operator('viewer'));
  for (let count = 0; count < 3; count += 1) assert.equal((await call(account.key)).status, 200);
  await gateway.settled();
});
after(async () => {
  await gateway?.close();
  await upstream?.close();
});

const call = (key: string) =>
  gateway.send('POST', '/chat/completions', {
    key,
    body: { model: 'a/b', messages: [{ role: 'user', content: 'hello' }] },
  });

/** The response of a call once it has this status. */
const becomes = (key: string, status: number) =>
  eventually(`status ${status}`, 20_000, async () => {
    const response = await call(key);
    return response.status === status ? response : null;
  });

const entriesOf = async ({ accountId }: TestAccount, kind: string) =>
  (await Array.fromAsync(gateway.operator.exportEntries(accountId))).filter((entry) => entry.kind === kind);

function hashOf(text: string): KeyHash {
  return parseKeyHash(text) ?? assert.fail(text);
}

// pages:A2
test('accounts are found by a part of the name, the address of an owner and the id, in keyset pages', async () => {
  const ids: number[] = [];
  for (let count = 0; count < 60; count += 1)
    ids.push(await gateway.operator.createAccount({ name: `Haneul_${count}%`, email: null }));
  const first = await viewer.get('/accounts?search=haneul_');
  assert.equal(first.items.length, 50);
  const second = await viewer.get(`/accounts?search=haneul_&cursor=${first.next}`);
  assert.deepEqual(
    [...first.items, ...second.items].map(({ id }: { id: number }) => id),
    ids.toReversed(),
  );
  assert.equal(second.next, null);
  const byId = await viewer.get(`/accounts?search=${ids[7]}`);
  assert.ok(byId.items.some(({ id }: { id: number }) => id === ids[7]));
  assert.deepEqual((await viewer.get('/accounts?search=nobody')).items, []);
  const invited = { ...(ids[3] === undefined ? {} : { accountId: ids[3] }) };
  await gateway.database.transaction((sql) =>
    sql.query(
      "INSERT INTO owner (account_id, email, email_key, email_verified, webauthn_id, created_at) VALUES ($1, 'Sora@Example.com', 'sora@example.com', true, 'w', now())",
      [invited.accountId],
    ),
  );
  assert.deepEqual(
    (await viewer.get('/accounts?search=sora@exa')).items.map(({ id }: { id: number }) => id),
    [ids[3]],
  );
  const standing = await viewer.get('/accounts?standing=active&search=haneul');
  assert.deepEqual(standing.items, [], 'an account without credit is not active');
});

// pages:A2
test('balance and spend of an account equal the ledger, and its views equal the pages of its owner', async () => {
  const { accountId } = account;
  const shown = await viewer.get(`/accounts/${accountId}`);
  const row = await gateway.operator.readAccount(accountId);
  assert.ok(row !== null);
  assert.equal(shown.balance_micro, String(row.credits - row.usage));
  assert.equal(shown.spend_30d_micro, String(row.usage));
  assert.deepEqual([shown.requests_30d, shown.standing, shown.keys], [3, 'active', 1]);
  const owner = new PageBrowser(gateway.origin, 'dashboard', sessions.owner(accountId));
  for (const path of [
    '/ledger',
    '/generations',
    '/usage/totals',
    '/usage/groups?by=model',
    '/usage/series?step=day',
    '/lots',
    '/balance?range=7d',
    '/apps?range=7d',
  ]) {
    const [own, seen] = [await owner.get(path), await viewer.get(`/accounts/${accountId}${path}`)];
    // When a page was read is its own.
    assert.deepEqual({ ...seen, as_of: null }, { ...own, as_of: null }, path);
  }
  const [{ id }] = (await owner.get('/generations')).items;
  assert.deepEqual(
    await viewer.get(`/accounts/${accountId}/generations/${id}`),
    await owner.get(`/generations/${id}`),
  );
  const other = await gateway.account();
  const foreign = await viewer.send('GET', `/accounts/${other.accountId}/generations/${id}`);
  assert.equal(foreign.status, 404);
});

// spec:operator/1.28
test('the person of an account is erased by an admin once it is closed, and its business number stays', async () => {
  const { accountId } = await gateway.account();
  const path = `/accounts/${accountId}`;
  const number = await support.send('PATCH', path, { body: { business_number: '124-81-00998' } });
  assert.equal(number.json.business_number, '1248100998', number.text);
  const wrong = await support.send('PATCH', path, { body: { business_number: '124-81-00997' } });
  assert.deepEqual([wrong.status, wrong.json.error.type], [400, 'invalid_request']);
  assert.equal((await support.send('GET', `${path}/person`)).json.error.type, 'role_required');
  assert.equal((await admin.get(`${path}/person`)).removed.account_name, 1);
  const early = await admin.send('DELETE', `${path}/person`, { body: {} });
  assert.deepEqual([early.status, early.json.error.type], [409, 'conflict']);
  await admin.send('POST', `${path}/closure`, { body: { closed: true, reason: 'asked' } });
  for (const _ of ['first', 'again']) {
    const done = await admin.send('DELETE', `${path}/person`, { body: {} });
    assert.deepEqual([done.status, done.json.removed.account_name], [200, 0], done.text);
  }
  const shown = await viewer.get(path);
  assert.deepEqual([shown.name, shown.business_number], [`account ${accountId}`, '1248100998']);
  const removed = await support.send('PATCH', path, { body: { business_number: null } });
  assert.equal(removed.json.business_number, null);
});

// pages:A2
test('a grant with the wrong role is refused; one idempotency key grants once, two operators grant twice', async () => {
  const poor = await gateway.account({ credit: '0' });
  const path = `/accounts/${poor.accountId}/grants`;
  const body = { kind: 'bonus', amount_micro: '5000000000', reason: 'sorry' };
  const refused = await viewer.send('POST', path, { body });
  assert.deepEqual([refused.status, refused.json.error.type], [403, 'role_required']);
  const tooMuch = await support.send('POST', path, { body: { ...body, amount_micro: '100000000001' } });
  assert.deepEqual([tooMuch.status, tooMuch.json.error.type], [403, 'above_limit']);
  assert.deepEqual(await entriesOf(poor, 'bonus'), []);
  const key = randomUUID();
  const same = await Promise.all([1, 2, 3, 4].map(() => support.send('POST', path, { body, key })));
  assert.deepEqual([...new Set(same.map(({ text }) => text))].length, 1);
  assert.equal((await entriesOf(poor, 'bonus')).length, 1);
  const both = await Promise.all([support, admin].map((by) => by.send('POST', path, { body })));
  assert.deepEqual(
    both.map(({ status }) => status),
    [200, 200],
  );
  assert.equal((await entriesOf(poor, 'bonus')).length, 3);
  assert.equal((await viewer.get(`/accounts/${poor.accountId}`)).balance_micro, '15000000000');
  await becomes(poor.key, 200);
  for (const amount of ['0', '-1', '1.5', '1000000000000000001'])
    assert.equal((await admin.send('POST', path, { body: { ...body, amount_micro: amount } })).status, 400);
  const [act] = (await viewer.get(`/audit?act=credit.grant&account_id=${poor.accountId}`)).items;
  assert.deepEqual([act.who, act.reason, act.after.amount_micro], ['operator', 'sorry', '5000000000']);
});

// pages:A2
test('only an admin adjusts and refunds; a request is refunded once, and only to its account', async () => {
  const { accountId } = account;
  const [{ id, cost_micro: cost }] = (await viewer.get(`/accounts/${accountId}/generations`)).items;
  const refund = `/accounts/${accountId}/generations/${id}/refund`;
  for (const [path, body] of [
    [refund, { reason: 'x' }],
    [`/accounts/${accountId}/adjustments`, { amount_micro: '-1', reason: 'x' }],
  ] as const)
    assert.equal((await support.send('POST', path, { body })).json.error.type, 'role_required');
  const before = BigInt((await viewer.get(`/accounts/${accountId}`)).balance_micro);
  const adjusted = await admin.send('POST', `/accounts/${accountId}/adjustments`, {
    body: { amount_micro: '-1000000', reason: 'duplicate' },
  });
  assert.equal(adjusted.json.balance_micro, String(before - 1_000_000n));
  const usage = async () => (await gateway.send('GET', '/key', { key: account.key })).json.data.usage;
  assert.equal(await usage(), 60);
  const body = { reason: 'bad', to_key_limit: true };
  const done = await Promise.all([1, 2].map(() => admin.send('POST', refund, { body })));
  assert.deepEqual(done.map(({ status }) => status).toSorted(), [200, 409]);
  assert.deepEqual(
    (await entriesOf(account, 'refund')).map(({ amountMicro }) => String(amountMicro)),
    [cost],
  );
  await until('the key counts it no more', async () => (await usage()) === 40);
  const [act] = (await viewer.get(`/audit?act=credit.refund&account_id=${accountId}`)).items;
  assert.equal(act.after.kind, 'to_key_limit');
  const figures = await viewer.get(`/accounts/${accountId}`);
  assert.deepEqual(
    [figures.used_micro, figures.expired_micro, figures.deducted_micro, figures.total_usage_micro],
    ['60000000', '0', '1000000', '61000000'],
  );
  const other = await gateway.account();
  const foreign = await admin.send('POST', `/accounts/${other.accountId}/generations/${id}/refund`, {
    body: { reason: 'x' },
  });
  assert.equal(foreign.json.error.type, 'conflict');
});

// pages:A2
test('a suspended account is rejected with all keys, later ones included; lifting keeps single suspensions', async () => {
  const one = await gateway.account();
  const single = await one.another();
  assert.equal((await call(one.key)).status, 200);
  assert.equal((await call(single.key)).status, 200);
  await gateway.operator.suspendKey({ hash: hashOf(single.hash), suspended: true, reason: 'leaked' });
  const path = `/accounts/${one.accountId}/suspension`;
  const suspend = (by: PageBrowser, suspended: boolean) =>
    by.send('POST', path, { body: { suspended, reason: 'unpaid' } });
  assert.equal((await suspend(viewer, true)).json.error.type, 'role_required');
  assert.equal((await suspend(support, true)).json.standing, 'suspended_by_admin');
  assert.equal((await suspend(admin, true)).status, 200, 'a second operator changes nothing');
  const rejected = await becomes(one.key, 403);
  assert.equal(rejected.json.error.metadata.error_type, 'key_suspended');
  const later = await one.another();
  assert.equal((await call(later.key)).status, 403);
  const owner = new PageBrowser(gateway.origin, 'dashboard', sessions.owner(one.accountId));
  assert.equal((await owner.get('/account')).standing, 'suspended_by_admin');
  assert.equal((await suspend(support, false)).json.standing, 'active');
  await becomes(one.key, 200);
  await becomes(later.key, 200);
  assert.equal((await call(single.key)).status, 403);
  const { items } = await viewer.get(`/audit?account_id=${one.accountId}`);
  assert.deepEqual(
    items
      .map(({ act }: { act: string }) => act)
      .filter((act: string) => /^account\.(suspend|resume)$/.test(act)),
    ['account.resume', 'account.suspend'],
  );
});

// spec:operator/1.15
// pages:A2
test('a closed account has no key, no new key, no credit and no new owner; its balance stays', async () => {
  const one = await gateway.account();
  const path = `/accounts/${one.accountId}`;
  const before = await viewer.get(path);
  const close = (by: PageBrowser, closed: boolean) =>
    by.send('POST', `${path}/closure`, { body: { closed, reason: 'left' } });
  assert.equal((await close(support, true)).status, 403);
  const closed = (await close(admin, true)).json;
  assert.deepEqual([closed.standing, closed.keys, closed.balance_micro], ['closed', 0, before.balance_micro]);
  await becomes(one.key, 401);
  const listed = await viewer.get(`/accounts?standing=closed&search=${one.accountId}`);
  assert.ok(listed.items.some(({ id }: { id: number }) => id === one.accountId));
  const grant = { kind: 'bonus', amount_micro: '1000000', reason: 'x' };
  assert.equal((await admin.send('POST', `${path}/grants`, { body: grant })).status, 409);
  assert.equal((await admin.send('POST', `${path}/invitations`, { body: {} })).status, 409);
  const key = { kind: 'inference', name: 'k', limit: null, limitReset: 'never', expiresAtMs: null } as const;
  await assert.rejects(gateway.operator.createKey({ accountId: one.accountId, ...key }), /closed account/);
  const paidOut = { amount_micro: `-${before.balance_micro}`, reason: 'paid out' };
  assert.equal((await admin.send('POST', `${path}/adjustments`, { body: paidOut })).json.balance_micro, '0');
  const [act] = (await viewer.get(`/audit?act=account.close&account_id=${one.accountId}`)).items;
  assert.deepEqual(act.after, { closed: true, balance_micro: before.balance_micro, keys_revoked: 1 });
  assert.equal((await close(admin, false)).json.standing, 'suspended_no_credit');
  assert.equal((await admin.send('POST', `${path}/grants`, { body: grant })).status, 200);
  await gateway.operator.createKey({ accountId: one.accountId, ...key });
  assert.equal((await call(one.key)).status, 401);
  assert.deepEqual((await gateway.operator.verifyLedger()).differences, []);
});

test('an account is renamed, and the log names it by its id', async () => {
  const one = await gateway.account();
  const renamed = await support.send('PATCH', `/accounts/${one.accountId}`, { body: { name: '새 이름' } });
  assert.equal(renamed.json.name, '새 이름');
  const [act] = (await viewer.get(`/audit?act=account.rename&account_id=${one.accountId}`)).items;
  assert.deepEqual([act.before, act.after], [null, null]);
});

// spec:operator/1.16
// pages:A3
test('an operator changes the limit of a key, which applies within a second', async () => {
  const one = await gateway.account();
  const limit = (by: PageBrowser, body: object) =>
    by.send('PATCH', `/keys/${one.hash}`, { body: { ...body, reason: 'asked' } });
  assert.equal((await limit(viewer, { limit_micro: '0' })).status, 403);
  const lowered = (await limit(support, { limit_micro: '0', limit_reset: 'daily' })).json;
  assert.deepEqual([lowered.limit_micro, lowered.limit_reset], ['0', 'daily']);
  await becomes(one.key, 402);
  assert.equal((await limit(support, { limit_micro: null })).json.limit_reset, 'daily');
  await becomes(one.key, 200);
  const [act] = (await viewer.get(`/audit?act=key.limit&account_id=${one.accountId}`)).items;
  assert.deepEqual(act.before, { limit_micro: '0', limit_reset: 'daily' });
  assert.deepEqual(act.after, { limit_micro: null, limit_reset: 'daily' });
});

// pages:A3
test('a key is found by hash, label and name, suspended and lifted', async () => {
  const one = await gateway.account();
  const [found] = (await viewer.get(`/keys?search=${one.hash}`)).items;
  assert.deepEqual([found.account_id, found.hash, found.refusals], [one.accountId, one.hash, []]);
  const byLabel = await viewer.get(`/keys?search=${encodeURIComponent(found.label.slice(-9))}`);
  assert.ok(byLabel.items.some(({ hash }: { hash: string }) => hash === one.hash));
  assert.equal((await viewer.get(`/keys?account=${one.accountId}&search=test`)).items.length, 1);
  const path = `/keys/${one.hash}/suspension`;
  assert.equal((await viewer.send('POST', path, { body: { suspended: true, reason: 'x' } })).status, 403);
  const suspended = await support.send('POST', path, { body: { suspended: true, reason: 'leaked' } });
  assert.deepEqual(
    [suspended.json.standing, suspended.json.suspend_reason],
    ['suspended_by_admin', 'leaked'],
  );
  await becomes(one.key, 403);
  const lifted = await support.send('POST', path, { body: { suspended: false, reason: 'rotated' } });
  assert.equal(lifted.json.suspend_reason, null);
  await becomes(one.key, 200);
});

// pages:A3
test('the console shows the same reason for a refused key as its caller gets, for every cause', async () => {
  const cases = {
    revoked: (hash: KeyHash) => gateway.operator.revokeKey(hash),
    suspended_by_admin: (hash: KeyHash) =>
      gateway.operator.suspendKey({ hash, suspended: true, reason: 'r' }),
    switched_off: (hash: KeyHash, one: TestAccount) =>
      new PageBrowser(gateway.origin, 'dashboard', sessions.owner(one.accountId)).send(
        'PATCH',
        `/keys/${hash}`,
        {
          body: { switched_off: true },
        },
      ),
    limit: (hash: KeyHash, one: TestAccount) =>
      new PageBrowser(gateway.origin, 'dashboard', sessions.owner(one.accountId)).send(
        'PATCH',
        `/keys/${hash}`,
        {
          body: { limit_micro: '0' },
        },
      ),
    expired: (hash: KeyHash, one: TestAccount) =>
      new PageBrowser(gateway.origin, 'dashboard', sessions.owner(one.accountId)).send(
        'POST',
        `/keys/${hash}/rotate`,
        { body: {} },
      ),
    suspended_no_credit: (_hash: KeyHash, { accountId }: TestAccount) =>
      gateway.operator.adjustCredit({
        accountId,
        amount: krwOfMicro(-10_000_000_000n),
        reason: 'r',
        idempotencyKey: null,
      }),
  };
  for (const [cause, make] of Object.entries(cases)) {
    const one = await gateway.account();
    await make(hashOf(one.hash), one);
    const { refusals } = await viewer.get(`/keys/${one.hash}`);
    assert.deepEqual(
      refusals.map((each: { cause: string }) => each.cause),
      [cause],
    );
    const [{ status, type }] = refusals;
    const response = await becomes(one.key, status);
    assert.equal(response.json.error.metadata.error_type, type, cause);
  }
});

// pages:A12
test('the audit log has commands and the console, filtered by operator, act and time', async () => {
  const accountId = await gateway.operator.createAccount({ name: 'logged', email: null });
  const body = { kind: 'bonus', amount_micro: '1500000', reason: '=1+1, "보상"' };
  assert.equal((await admin.send('POST', `/accounts/${accountId}/grants`, { body })).status, 200);
  const of = `account_id=${accountId}`;
  const seen = async (query: string) =>
    (await viewer.get(`/audit?${of}&${query}`)).items.map(({ act }: { act: string }) => act);
  assert.deepEqual(await seen(''), ['credit.grant', 'account.create']);
  assert.deepEqual(await seen('role=cli'), ['account.create']);
  assert.deepEqual(await seen('operator_id=1'), ['credit.grant']);
  assert.deepEqual(await seen('act=account.create'), ['account.create']);
  assert.deepEqual(await seen(`to=${encodeURIComponent('2020-01-01T00:00:00Z')}`), []);
  const names = (await viewer.get('/audit/acts')).items;
  assert.ok(names.includes('credit.grant') && names.includes('account.create'));
  assert.deepEqual(names, [...new Set(names)].toSorted());
});

// pages:A12
test('an announcement of an admin is shown to every owner while it lasts, and is an act', async () => {
  const owner = new PageBrowser(gateway.origin, 'dashboard', sessions.owner(account.accountId));
  const shown = async () =>
    (await owner.get('/announcements')).items.map(({ text }: { text: { en: string } }) => text.en);
  const body = (en: string, more: object = {}) => ({
    body: { level: 'info', text: { ko: `${en} 공지`, en }, ...more },
  });
  const refused = await support.send('POST', '/announcements', body('no'));
  assert.equal(refused.json.error.type, 'role_required');
  const key = randomUUID();
  const make = () => admin.send('POST', '/announcements', { ...body('now'), key });
  const [made, again] = await Promise.all([make(), make()]);
  assert.equal(made.json.id, again.json.id);
  const later = { from: '2999-01-01T00:00:00+09:00', to: '2999-01-02T00:00:00+09:00' };
  const scheduled = await admin.send('POST', '/announcements', body('later', later));
  assert.equal(scheduled.json.state, 'scheduled');
  await admin.send('POST', '/announcements', body('fire', { level: 'critical' }));
  assert.deepEqual(await shown(), ['fire', 'now']);
  const past = await admin.send('POST', '/announcements', body('past', { to: '2020-01-01T00:00:00Z' }));
  assert.equal(past.json.error.type, 'conflict');
  assert.equal((await support.send('POST', `/announcements/${made.json.id}/end`)).status, 403);
  for (const { json } of [made, scheduled]) {
    const ended = await admin.send('POST', `/announcements/${json.id}/end`);
    assert.equal(ended.json.state, 'ended', ended.text);
    assert.equal((await admin.send('POST', `/announcements/${json.id}/end`)).status, 404);
  }
  assert.deepEqual(await shown(), ['fire']);
  const acts = (await viewer.get('/audit?operator_id=1')).items.map(({ act }: { act: string }) => act);
  assert.deepEqual(acts.slice(0, 5), [
    'announcement.end',
    'announcement.end',
    'announcement.create',
    'announcement.create',
    'announcement.create',
  ]);
});
