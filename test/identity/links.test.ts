/** One-time links: invitations, resets, account links, console links. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { parseEmail } from '../../src/identity/email.ts';
import type { NewLink } from '../../src/identity/links-sql.ts';
import { until } from '../harness/until.ts';
import { browser, cli, type IdentityWorld, openWorld, password, sha256, tokenOf } from './world.ts';

let world: IdentityWorld;
before(async () => {
  world = await openWorld();
});

const hourMs = 3_600_000;

async function invite(accountId: number, email: string | null = null): Promise<NewLink> {
  const link = await world.identity.links.invite(accountId, email === null ? null : parseEmail(email), cli);
  if (typeof link === 'string') assert.fail(link);
  return link;
}

const redeem = (token: string, email: string | null, secret = password) =>
  world.identity.owners.redeem({ token, password: secret, email, name: '홍길동' }, browser());

test('an invitation makes an owner of the account and signs it in', async () => {
  const accountId = await world.account();
  const { token } = await invite(accountId, 'Owner@Example.com');
  const session = await world.identity.findSession(tokenOf(await redeem(token, null)));
  assert.ok(session?.kind === 'owner');
  assert.equal(session.accountId, accountId);
  const owner = await world.identity.owners.ofAccount(accountId);
  assert.equal(owner?.email, 'Owner@Example.com');
  assert.equal(owner?.emailVerified, true);
  assert.equal(owner?.name, '홍길동');
});

test('an address that the owner typed is not treated as verified', async () => {
  const accountId = await world.account();
  const { token } = await invite(accountId);
  tokenOf(await redeem(token, 'self@example.com'));
  assert.equal((await world.identity.owners.ofAccount(accountId))?.emailVerified, false);
});

test('an account has one owner: nobody else is invited, and an open invitation makes no other', async () => {
  const accountId = await world.account();
  const [first, second] = [await invite(accountId, 'first@example.com'), await invite(accountId)];
  tokenOf(await redeem(first.token, null));
  assert.deepEqual(await redeem(second.token, 'second@example.com'), {
    kind: 'refused',
    why: 'account_has_owner',
  });
  const { links, owners } = world.identity;
  for (const email of [parseEmail('second@example.com'), null])
    assert.equal(await links.invite(accountId, email, cli), 'account_has_owner');
  assert.equal((await invite(accountId, 'first@example.com')).purpose, 'reset');
  const open = await links.openAccount(accountId, cli);
  const session = await world.identity.findSession(
    tokenOf(await world.identity.signIn.withLink('account', open.token, browser())),
  );
  assert.ok(session?.kind === 'owner');
  const order = { email: 'third@example.com', password, name: null };
  assert.deepEqual(await owners.claim(session, order, browser()), {
    kind: 'refused',
    why: 'account_has_owner',
  });
});

test('of several invitations that are accepted at once one makes the owner', async () => {
  const accountId = await world.account();
  const invited = await Promise.all(
    Array.from({ length: 6 }, (_, n) => invite(accountId, `at-once-${n}@example.com`)),
  );
  const outcomes = await Promise.all(
    invited.map(({ token }, n) =>
      (n % 2 === 0 ? world.identity : world.other).owners.redeem(
        { token, password, email: null, name: null },
        browser(),
      ),
    ),
  );
  assert.equal(outcomes.filter(({ kind }) => kind === 'session').length, 1, JSON.stringify(outcomes));
  const rows = await world.database.query('SELECT FROM owner WHERE account_id = $1', [accountId]);
  assert.equal(rows.length, 1);
});

test('a replaced owner loses sessions, password and links; the new one sets a password; the audit log has both', async () => {
  const accountId = await world.account();
  const old = await world.owner(accountId, 'leaves@example.com');
  const { links, owners } = world.identity;
  const open = await links.openAccount(accountId, cli);
  const ownerless = tokenOf(await world.identity.signIn.withLink('account', open.token, browser()));
  const openLinks = [await links.openAccount(accountId, cli), await invite(accountId, 'leaves@example.com')];
  const replace = (email: string) =>
    links.replaceOwner(accountId, parseEmail(email) ?? assert.fail(), 'left the company', cli);
  assert.equal(await replace('Leaves@example.com'), 'same_owner');
  await world.owner(await world.account(), 'busy@example.com');
  assert.equal(await replace('busy@example.com'), 'email_taken');
  assert.notEqual(await world.identity.findSession(old.token), null);
  // Both have read who the owner is when the first goes on.
  const { both } = await world.database.transaction(async (sql) => {
    await sql.query('SELECT FROM owner WHERE id = $1 FOR UPDATE', [old.ownerId]);
    const begun = Promise.all([replace('joins@example.com'), replace('also-joins@example.com')]);
    await until('both wait', async () => {
      const [row] = await world.database.query<{ waiting: bigint }>(
        "SELECT count(*) AS waiting FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
      );
      return row?.waiting === 2n;
    });
    return { both: begun };
  });
  const made = await both;
  const [link, ...others] = made.filter((one) => typeof one !== 'string');
  assert.ok(link !== undefined && others.length === 0, JSON.stringify(made));
  for (const token of [old.token, ownerless]) assert.equal(await world.identity.findSession(token), null);
  for (const { token } of openLinks) assert.equal(await links.read(token), null);
  const attempt = { email: 'leaves@example.com', password };
  assert.equal((await world.identity.signIn.withPassword(attempt, browser())).kind, 'failed');
  tokenOf(await redeem(link.token, null));
  const now = await owners.ofAccount(accountId);
  const [act] = await world.database.query<{ reason: string; before: unknown; after: unknown }>(
    "SELECT reason, before, after FROM audit_entry WHERE act = 'account.replace_owner' AND account_id = $1",
    [accountId],
  );
  assert.deepEqual(act, {
    reason: 'left the company',
    before: { owner: old.ownerId },
    after: { owner: now?.ownerId },
  });
  assert.equal(
    await links.replaceOwner(999_999, parseEmail('x@example.com') ?? assert.fail(), 'x', cli),
    'no_such_account',
  );
  assert.equal(
    await links.replaceOwner(await world.account(), parseEmail('x@example.com') ?? assert.fail(), 'x', cli),
    'no_owner',
  );
});

// security:53
test('only the hash of a link is stored', async () => {
  const { token } = await invite(await world.account());
  const rows = await world.database.query<{ row: string }>('SELECT l::text AS row FROM one_time_link l');
  assert.ok(rows.every(({ row }) => !row.includes(token)));
  assert.ok(rows.some(({ row }) => row.includes(sha256(token).toString('hex'))));
});

test('a link works once', async () => {
  const { token } = await invite(await world.account());
  tokenOf(await redeem(token, 'once@example.com'));
  assert.deepEqual(await redeem(token, 'again@example.com'), { kind: 'refused', why: 'invalid_link' });
  assert.equal(await world.identity.links.read(token), null);
});

// security:47
test('of two nodes that use a link at the same time one makes an owner', async () => {
  const accountId = await world.account();
  const { token } = await invite(accountId);
  const attempt = (node: typeof world.identity, email: string) =>
    node.owners.redeem({ token, password, email, name: null }, browser());
  const outcomes = await Promise.all([
    attempt(world.identity, 'left@example.com'),
    attempt(world.other, 'right@example.com'),
    attempt(world.identity, 'middle@example.com'),
  ]);
  assert.deepEqual(outcomes.map(({ kind }) => kind).sort(), ['refused', 'refused', 'session']);
  assert.notEqual(await world.identity.owners.ofAccount(accountId), null);
});

// security:47
test('of many uses of a console link at the same time one opens a session', async () => {
  const operator = await world.identity.operators.add({ name: 'racer', role: 'viewer' }, cli);
  if (typeof operator === 'string') assert.fail(operator);
  const { token } = await world.identity.links.openConsole(operator, cli);
  const outcomes = await Promise.all(
    Array.from({ length: 8 }, (_, n) =>
      (n % 2 === 0 ? world.identity : world.other).signIn.withLink('console', token, browser()),
    ),
  );
  assert.equal(outcomes.filter(({ kind }) => kind === 'session').length, 1);
  assert.equal(
    (await world.identity.sessions.list({ kind: 'operator', operatorId: operator.operatorId })).length,
    1,
  );
});

test('a link is valid for 24 hours to the millisecond, also over midnight in Seoul and in UTC', async () => {
  for (const [n, instant] of ['2026-12-31T14:59:59.999Z', '2026-12-31T23:59:59.999Z'].entries()) {
    world.clock.freeze(instant);
    const late = await invite(await world.account());
    const good = await invite(await world.account());
    world.clock.freeze(Date.parse(instant) + 24 * hourMs - 1);
    tokenOf(await redeem(good.token, `midnight${n}@example.com`));
    world.clock.freeze(Date.parse(instant) + 24 * hourMs);
    assert.deepEqual(await redeem(late.token, 'late@example.com'), { kind: 'refused', why: 'invalid_link' });
  }
  world.clock.thaw();
});

test('a refused redemption leaves the link usable', async () => {
  const accountId = await world.account();
  await world.owner(await world.account(), 'taken@example.com');
  const { token } = await invite(accountId);
  assert.deepEqual(await redeem(token, 'short@example.com', 'short'), {
    kind: 'refused',
    why: 'weak_password',
  });
  assert.deepEqual(await redeem(token, 'no address'), { kind: 'refused', why: 'invalid_email' });
  assert.deepEqual(await redeem(token, 'TAKEN@example.com'), { kind: 'refused', why: 'email_taken' });
  tokenOf(await redeem(token, 'free@example.com'));
});

// security:47
test('a link allows only what it was created for', async () => {
  const accountId = await world.account();
  const { token } = await invite(accountId);
  for (const purpose of ['account', 'console'] as const)
    assert.deepEqual(await world.identity.signIn.withLink(purpose, token, browser()), { kind: 'failed' });
  const open = await world.identity.links.openAccount(accountId, cli);
  assert.deepEqual(await redeem(open.token, 'x@example.com'), { kind: 'refused', why: 'invalid_link' });
  assert.deepEqual(await world.identity.signIn.withLink('console', open.token, browser()), {
    kind: 'failed',
  });
  const session = await world.identity.findSession(
    tokenOf(await world.identity.signIn.withLink('account', open.token, browser())),
  );
  assert.deepEqual([session?.kind, session?.kind === 'owner' && session.ownerId], ['owner', null]);
});

test('an invitation of a known address sets the password again and ends every session of that owner', async () => {
  const accountId = await world.account();
  const { token: old, ownerId } = await world.owner(accountId, 'reset@example.com');
  const link = await invite(accountId, 'RESET@example.com');
  assert.equal(link.purpose, 'reset');
  const fresh = tokenOf(await redeem(link.token, null, 'another long password'));
  assert.equal(await world.identity.findSession(old), null);
  const session = await world.identity.findSession(fresh);
  assert.ok(session?.kind === 'owner' && session.ownerId === ownerId);
  const signIn = (secret: string) =>
    world.identity.signIn.withPassword({ email: 'reset@example.com', password: secret }, browser());
  assert.equal((await signIn(password)).kind, 'failed');
  assert.equal((await signIn('another long password')).kind, 'session');
});

test('an address of another account and an unknown account are refused', async () => {
  await world.owner(await world.account(), 'elsewhere@example.com');
  const accountId = await world.account();
  const email = parseEmail('elsewhere@example.com');
  assert.equal(await world.identity.links.invite(accountId, email, cli), 'email_taken');
  assert.equal(await world.identity.links.invite(999_999, null, cli), 'no_such_account');
});

test('texts that are no token are refused without a query', async () => {
  for (const text of ['', 'x', 'a'.repeat(44), `${'a'.repeat(42)}'`, 'é'.repeat(43), '\0'.repeat(43)]) {
    assert.equal(await world.identity.links.read(text), null);
    assert.equal(await world.identity.findSession(text), null);
  }
});
