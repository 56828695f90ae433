/** Sessions: their tokens, their end, and who may end them. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { createKey, revokeKey } from '../../src/accounts/keys.ts';
import { suspendAccount } from '../../src/accounts/suspension.ts';
import { openIdentity } from '../../src/operations/open-identity.ts';
import { createOperatorService } from '../../src/operations/operator-service.ts';
import { systemClock } from '../../src/time/clock.ts';
import { browser, cli, type IdentityWorld, openWorld, password, sha256, tokenOf } from './world.ts';

let world: IdentityWorld;
before(async () => {
  world = await openWorld();
});

const hourMs = 3_600_000;
let owners = 0;

async function signedIn() {
  owners += 1;
  const email = `owner${owners}@sessions.example`;
  const accountId = await world.account();
  const { token, ownerId } = await world.owner(accountId, email);
  const again = async () =>
    world.database.transaction(
      async (sql) =>
        (await world.identity.sessions.open(sql, { accountId, ownerId }, 'link', browser())).token,
    );
  const signIn = async (earlier: string) =>
    tokenOf(await world.identity.signIn.withPassword({ email, password }, browser(undefined, earlier)));
  return { accountId, ownerId, token, again, signIn };
}

async function sessionIdOf(token: string): Promise<string> {
  return (await world.identity.findSession(token))?.sessionId ?? assert.fail('no session');
}

// security:53
test('a token has 256 bits, and only its hash is stored', async () => {
  const { token } = await signedIn();
  assert.equal(Buffer.from(token, 'base64url').length, 32);
  const rows = await world.database.query<{ row: string }>('SELECT s::text AS row FROM page_session s');
  assert.ok(rows.every(({ row }) => !row.includes(token)));
  assert.ok(rows.some(({ row }) => row.includes(sha256(token).toString('hex'))));
});

// security:45
test('a session that is revoked on one node ends on another at once', async () => {
  const { token, ownerId, accountId, again } = await signedIn();
  const second = await again();
  assert.notEqual(await world.other.findSession(token), null);
  const beganMs = systemClock.monotonic();
  const scope = { kind: 'owner', accountId, ownerId } as const;
  assert.equal(await world.identity.sessions.revoke(await sessionIdOf(token), scope), true);
  assert.equal(await world.other.findSession(token), null);
  assert.ok(systemClock.monotonic() - beganMs < 1_000);
  assert.notEqual(await world.other.findSession(second), null);
});

// security:52
test('a session that an operator ends and the act are stored together', async () => {
  const { token } = await signedIn();
  const id = await sessionIdOf(token);
  const unknown = { kind: 'operator', operatorId: 1, name: 'x', role: 'owner' as 'admin' } as const;
  await assert.rejects(world.identity.sessions.revoke(id, { kind: 'all' }, unknown));
  assert.notEqual(await world.identity.findSession(token), null);
  assert.equal(await world.identity.sessions.revoke(id, { kind: 'all' }, cli), true);
  const [act] = await world.identity.readActs({ limit: 1 });
  assert.deepEqual([act?.act, act?.subject], ['session.revoke', `session ${id}`]);
});

test('revoking the others keeps the session of the request', async () => {
  const { token, ownerId, accountId, again } = await signedIn();
  const others = [await again(), await again()];
  const kept = await sessionIdOf(token);
  assert.equal(await world.identity.sessions.revokeOthers({ kind: 'owner', accountId, ownerId }, kept), 2);
  for (const other of others) assert.equal(await world.identity.findSession(other), null);
  assert.notEqual(await world.identity.findSession(token), null);
});

// security:46
test('a session of another owner or account can be neither seen nor ended', async () => {
  const mine = await signedIn();
  const theirs = await signedIn();
  const scope = { kind: 'owner', accountId: mine.accountId, ownerId: mine.ownerId } as const;
  const foreign = await sessionIdOf(theirs.token);
  assert.equal(await world.identity.sessions.revoke(foreign, scope), false);
  for (const id of ['0', '-1', '1 OR 1=1', '9'.repeat(30), ''])
    assert.equal(await world.identity.sessions.revoke(id, scope), false);
  assert.ok((await world.identity.sessions.list(scope)).every((row) => row.ownerId === mine.ownerId));
  assert.notEqual(await world.identity.findSession(theirs.token), null);
});

test('a session ends after 12 hours without a request, and goes on with one in time', async () => {
  const { token } = await signedIn();
  world.clock.advance(12 * hourMs - 1_000);
  assert.notEqual(await world.identity.findSession(token), null);
  world.clock.advance(12 * hourMs - 1_000);
  assert.notEqual(await world.other.findSession(token), null);
  world.clock.advance(12 * hourMs + 1);
  assert.equal(await world.identity.findSession(token), null);
});

test('a session ends after a week, however busy it is, and an operator’s after a day', async () => {
  const { token } = await signedIn();
  const operator = await world.identity.operators.add({ name: 'aged', role: 'admin' }, cli);
  if (typeof operator === 'string') assert.fail(operator);
  const link = await world.identity.links.openConsole(operator, cli);
  const console = tokenOf(await world.identity.signIn.withLink('console', link.token, browser()));
  const ages: { readonly owner: number; readonly operator: number } = { owner: 0, operator: 0 };
  const seen = { ...ages };
  for (let hours = 0; hours <= 8 * 24; hours += 6) {
    if ((await world.identity.findSession(token)) !== null) seen.owner = hours;
    if ((await world.identity.findSession(console)) !== null) seen.operator = hours;
    world.clock.advance(6 * hourMs);
  }
  assert.deepEqual(seen, { owner: 7 * 24 - 6, operator: 24 - 6 });
});

test('a session is written at most once a minute', async () => {
  const atMs = world.clock.now();
  world.clock.freeze(atMs);
  const { token } = await signedIn();
  const written = async () =>
    (
      await world.database.query<{ at: number }>(
        'SELECT last_seen_at AS at FROM page_session WHERE token_hash = $1',
        [sha256(token)],
      )
    )[0]?.at;
  for (const [afterMs, seenMs] of [
    [59_999, 0],
    [60_000, 60_000],
  ] as const) {
    world.clock.freeze(atMs + afterMs);
    await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 ? world.identity : world.other).findSession(token)),
    );
    assert.equal(await written(), atMs + seenMs);
  }
  world.clock.thaw();
});

// security:45
test('a session of a management key lasts 12 hours at most, and ends with the key', async () => {
  const accountId = await world.account();
  const order = {
    accountId,
    kind: 'management',
    name: 'm',
    limit: null,
    limitReset: 'never',
    expiresAtMs: null,
  } as const;
  const context = { prefix: 'sk-naru-', nowMs: world.clock.now(), maxPerAccount: 10 };
  const key = await createKey(world.database, order, context);
  const open = async () =>
    tokenOf(await world.identity.signIn.withKey({ keyId: key.id, accountId }, browser()));
  const first = await open();
  for (let hours = 0; hours < 11; hours += 1) {
    world.clock.advance(hourMs);
    assert.notEqual(await world.identity.findSession(first), null);
  }
  world.clock.advance(hourMs);
  assert.equal(await world.identity.findSession(first), null);
  const second = await open();
  await revokeKey(world.database, key.hash, world.clock.now());
  assert.equal(await world.identity.findSession(second), null);
  assert.deepEqual(await world.identity.sessions.list({ kind: 'owner', accountId, ownerId: null }), []);
});

test('the suspension of an account ends the sessions of its management keys, not those of its owners', async () => {
  const { accountId, token } = await signedIn();
  const order = { accountId, kind: 'management', name: 'm', limit: null, limitReset: 'never' } as const;
  const context = { prefix: 'sk-naru-', nowMs: world.clock.now(), maxPerAccount: 10 };
  const key = await createKey(world.database, { ...order, expiresAtMs: null }, context);
  const byKey = tokenOf(await world.identity.signIn.withKey({ keyId: key.id, accountId }, browser()));
  assert.notEqual(await world.identity.findSession(byKey), null);
  const suspension = { accountId, suspended: true, reason: 'unpaid' };
  assert.equal((await suspendAccount(world.database, suspension, world.clock.now())).kind, 'done');
  assert.equal(await world.identity.findSession(byKey), null);
  assert.notEqual(await world.identity.findSession(token), null);
});

// spec:operator/1.15
test('a closed account has no valid session, and nobody signs in for it', async () => {
  const { accountId, token, signIn } = await signedIn();
  const operator = createOperatorService(world.database, {
    clock: world.clock,
    keyPrefix: 'sk-naru-',
    close: async () => {},
  });
  await operator.closeAccount({ accountId, closed: true, reason: 'left' });
  assert.equal(await world.identity.findSession(token), null);
  await assert.rejects(signIn(''), /closed/);
  await operator.closeAccount({ accountId, closed: false, reason: 'back' });
  assert.notEqual(await world.identity.findSession(await signIn('')), null);
});

test('a password change ends the other sessions of the owner', async () => {
  const { token, ownerId, again } = await signedIn();
  const other = await again();
  const kept = await sessionIdOf(token);
  assert.equal(await world.identity.owners.setPassword(ownerId, 'a brand new password', kept), 'done');
  assert.equal(await world.identity.findSession(other), null);
  assert.notEqual(await world.identity.findSession(token), null);
});

// spec:money/7.9
test('neither a session nor a window of attempts that a clock ahead has stored lasts longer for it', async () => {
  world.clock.advance(12 * hourMs);
  const { token } = await signedIn();
  const session = (await world.identity.findSession(token)) ?? assert.fail('no session');
  assert.ok(session.kind === 'owner');
  const client = browser();
  const guess = () =>
    world.identity.signIn.withPassword({ email: 'nobody@ahead.example', password: 'wrong password' }, client);
  for (let n = 0; n < 10; n += 1) assert.deepEqual(await guess(), { kind: 'failed' });
  assert.notDeepEqual(await guess(), { kind: 'failed' });
  world.clock.advance(-12 * hourMs);
  assert.deepEqual(await guess(), { kind: 'failed' });
  assert.equal(await world.identity.findSession(token), null);
  assert.equal(await world.identity.owners.confirm(session, null, client), 'confirm');
});

// spec:operator/4.2
test('a session of an operator lasts as configured: its idle time is that of the node that opened it', async () => {
  const identity = openIdentity(world.database, world.clock, null, {
    sessionHours: 120,
    sessionIdleHours: 60,
  });
  const operator = await identity.operators.add({ name: 'weekly', role: 'viewer' }, cli);
  if (typeof operator === 'string') assert.fail(operator);
  const open = async () => {
    const { token } = await identity.links.openConsole(operator, cli);
    return tokenOf(await identity.signIn.withLink('console', token, browser()));
  };
  const [used, idle] = [await open(), await open()];
  for (const hours of [59, 59]) {
    world.clock.advance(hours * hourMs);
    await world.other.prune();
    assert.ok(await world.other.findSession(used));
  }
  assert.equal(await world.other.findSession(idle), null);
  world.clock.advance(3 * hourMs);
  assert.equal(await world.other.findSession(used), null);
});

test('signing out ends the session on every node', async () => {
  const { token } = await signedIn();
  await world.identity.sessions.signOut(token);
  assert.equal(await world.other.findSession(token), null);
});

test('expired rows are pruned, valid ones are not', async () => {
  const { token: kept } = await signedIn();
  const { token: idle } = await signedIn();
  world.clock.advance(7 * hourMs);
  await world.identity.findSession(kept);
  const accountId = await world.account();
  await world.identity.links.openAccount(accountId, cli);
  world.clock.advance(6 * hourMs);
  await world.other.prune();
  const left = async (table: string) =>
    (await world.database.query<{ token_hash: Buffer }>(`SELECT token_hash FROM ${table}`)).map(
      ({ token_hash }) => token_hash.toString('hex'),
    );
  const sessions = await left('page_session');
  assert.ok(sessions.includes(sha256(kept).toString('hex')));
  assert.ok(!sessions.includes(sha256(idle).toString('hex')));
  assert.equal((await left('one_time_link')).length >= 1, true);
  world.clock.advance(25 * hourMs);
  await world.identity.prune();
  for (const table of ['page_session', 'one_time_link', 'sign_in_step'])
    assert.deepEqual(await left(table), [], table);
  assert.deepEqual(await world.database.query('SELECT FROM sign_in_attempt'), []);
});
