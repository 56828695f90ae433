/** Sign-in by password and by code, and the limits of attempts. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { totpCode, totpStepAt } from '../../src/identity/totp-code.ts';
import { byTier } from '../harness/tier.ts';
import { browser, cheapHasher, hashOf, type IdentityWorld, openWorld, password, tokenOf } from './world.ts';

let world: IdentityWorld;
before(async () => {
  world = await openWorld();
});

let owners = 0;

async function anOwner() {
  owners += 1;
  const email = `owner${owners}@sign-in.example`;
  const accountId = await world.account();
  return { email, accountId, ...(await world.owner(accountId, email)) };
}

const signIn = (email: string, secret: string, client = browser(), node = world.identity) =>
  node.signIn.withPassword({ email, password: secret }, client);

/** Turns TOTP on; returns the secret and the recovery codes. */
async function withTotp(ownerId: number) {
  const { secret } = (await world.identity.owners.beginTotp(ownerId)) ?? assert.fail();
  const bytes = fromBase32(secret);
  const codes = await world.identity.owners.enableTotp(ownerId, codeAt(bytes));
  return { secret: bytes, codes: codes ?? assert.fail('the code was refused') };
}

const codeAt = (secret: Buffer, offset = 0): string =>
  totpCode(secret, totpStepAt(world.clock.now()) + offset);

function fromBase32(text: string): Buffer {
  const bits = [...text]
    .map((c) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(c).toString(2).padStart(5, '0'))
    .join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}

async function stepOf(email: string): Promise<string> {
  const outcome = await signIn(email, password);
  return outcome.kind === 'totp' ? outcome.step : assert.fail(JSON.stringify(outcome));
}

test('an owner signs in with its address in any case, and with no other password', async () => {
  const { email, accountId, ownerId } = await anOwner();
  const session = await world.identity.findSession(
    tokenOf(await signIn(` ${email.toUpperCase()} `, password)),
  );
  assert.ok(session?.kind === 'owner');
  assert.deepEqual([session.accountId, session.ownerId, session.via], [accountId, ownerId, 'password']);
  for (const wrong of ['', `${password} `, password.toUpperCase(), 'x'.repeat(100_000)])
    assert.deepEqual(await signIn(email, wrong), { kind: 'failed' });
});

test('a password in any Unicode form of its characters is the same one', async () => {
  const email = 'unicode@sign-in.example';
  const { token, ownerId } = await world.owner(await world.account(), email);
  const { sessionId } = (await world.identity.findSession(token)) ?? assert.fail();
  const secret = 'café 비밀번호 열두자리';
  await world.identity.owners.setPassword(ownerId, secret.normalize('NFC'), sessionId);
  tokenOf(await signIn(email, secret.normalize('NFD')));
});

// security:53
test('only a hash of argon2id is stored', async () => {
  const { ownerId } = await anOwner();
  await world.costly.owners.setPassword(ownerId, password, '0');
  const [row] = await world.database.query<{ password: string }>('SELECT password FROM owner WHERE id = $1', [
    ownerId,
  ]);
  assert.match(row?.password ?? '', /^\$argon2id\$v=19\$m=32768,t=3,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
});

test('a weaker hash is replaced at the next sign-in', async () => {
  const { email, ownerId } = await anOwner();
  const weak = hashOf(password, 1024, 1);
  await world.database.transaction((sql) =>
    sql.query('UPDATE owner SET password = $2 WHERE id = $1', [ownerId, weak]),
  );
  tokenOf(await signIn(email, password, browser(), world.costly));
  const [row] = await world.database.query<{ password: string }>('SELECT password FROM owner WHERE id = $1', [
    ownerId,
  ]);
  assert.match(row?.password ?? '', /m=32768,t=3/);
  tokenOf(await signIn(email, password, browser(), world.costly));
});

// security:44
test('an unknown name takes as long as a wrong password', async () => {
  const { email, ownerId } = await anOwner();
  await world.costly.owners.setPassword(ownerId, password, '0');
  const rounds = byTier(4, 40);
  const times = { known: [] as number[], unknown: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    for (const kind of ['known', 'unknown'] as const) {
      await world.database.transaction((sql) => sql.query('DELETE FROM sign_in_attempt'));
      const began = process.cpuUsage();
      const outcome = await signIn(
        kind === 'known' ? email : `nobody${round}@sign-in.example`,
        'wrong password',
        browser(),
        world.costly,
      );
      const { user, system } = process.cpuUsage(began);
      times[kind].push(user + system);
      assert.deepEqual(outcome, { kind: 'failed' });
    }
  }
  // Processor time, which other processes do not lengthen; the shortest has the least beside it.
  const ratio = Math.min(...times.known) / Math.min(...times.unknown);
  // Without the dummy hash it is above 10.
  assert.ok(ratio > 0.4 && ratio < 2.5, `ratio ${ratio}`);
});

// security:43
test('guesses of one password are limited over all nodes and addresses, also concurrent ones', async () => {
  const { email } = await anOwner();
  const outcomes = await Promise.all(
    Array.from({ length: 15 }, (_, n) =>
      signIn(email, `guess number ${n}`, browser(), n % 2 ? world.identity : world.other),
    ),
  );
  const kinds = outcomes.map(({ kind }) => kind);
  assert.equal(kinds.filter((kind) => kind === 'failed').length, 10);
  assert.equal(kinds.filter((kind) => kind === 'throttled').length, 5);
  // The right password is not tried either: otherwise a guess could be told from it.
  const outcome = await signIn(email, password);
  assert.ok(outcome.kind === 'throttled' && outcome.retryAfterSec > 0 && outcome.retryAfterSec <= 900);
  world.clock.advance(900_001);
  tokenOf(await signIn(email, password));
});

// security:43
test('attempts from one address are limited over all names, and a success restores only its own', async () => {
  const client = browser('203.0.113.7');
  const { email } = await anOwner();
  for (let n = 0; n < 29; n += 1)
    assert.equal((await world.identity.signIn.withKey(null, client)).kind, 'failed');
  tokenOf(await signIn(email, password, client));
  tokenOf(await signIn(email, password, client));
  assert.equal((await world.identity.signIn.withKey(null, client)).kind, 'failed');
  for (const attempt of [
    () => signIn(email, password, client),
    () => world.other.signIn.withKey(null, client),
    () => world.identity.signIn.withLink('console', 'a'.repeat(43), client),
    () => world.identity.signIn.withCode({ step: 'a'.repeat(43), code: '000000' }, client),
  ])
    assert.equal((await attempt()).kind, 'throttled');
  assert.equal((await world.identity.signIn.withKey(null, browser('203.0.113.8'))).kind, 'failed');
});

// security:44
test('passwords beyond the queue are rejected, and one at a time is hashed', async () => {
  const hasher = cheapHasher;
  const outcomes = await Promise.allSettled(Array.from({ length: 30 }, () => hasher.verify('x', null)));
  const busy = outcomes.filter(({ status }) => status === 'rejected');
  assert.equal(outcomes.length - busy.length, 17);
  assert.ok(busy.every((one) => one.status === 'rejected' && one.reason.name === 'HasherBusy'));
  assert.equal(await hasher.verify('x', null), false);
});

test('the codes are those of RFC 6238', () => {
  const secret = Buffer.from('12345678901234567890');
  const expected = [
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
    [20_000_000_000, '353130'],
  ] as const;
  for (const [seconds, code] of expected) assert.equal(totpCode(secret, totpStepAt(seconds * 1000)), code);
});

test('with TOTP on, the password alone opens no session, and a code is needed', async () => {
  const { email, ownerId } = await anOwner();
  const { secret } = await withTotp(ownerId);
  world.clock.advance(60_000);
  const step = await stepOf(email);
  const wrong = codeAt(secret, 5);
  assert.equal((await world.identity.signIn.withCode({ step, code: wrong }, browser())).kind, 'failed');
  const token = tokenOf(await world.other.signIn.withCode({ step, code: codeAt(secret) }, browser()));
  assert.equal((await world.identity.findSession(token))?.kind, 'owner');
});

// security:43
test('a code is accepted once, also when it arrives on two nodes at the same time', async () => {
  const { email, ownerId } = await anOwner();
  const { secret } = await withTotp(ownerId);
  world.clock.advance(60_000);
  const [one, two, three] = [await stepOf(email), await stepOf(email), await stepOf(email)];
  const code = codeAt(secret);
  const outcomes = await Promise.all([
    world.identity.signIn.withCode({ step: one, code }, browser()),
    world.other.signIn.withCode({ step: two, code }, browser()),
  ]);
  assert.deepEqual(outcomes.map(({ kind }) => kind).sort(), ['failed', 'session']);
  assert.equal((await world.identity.signIn.withCode({ step: three, code }, browser())).kind, 'failed');
  // An older code, still in its time, is not accepted after a newer one.
  const older = codeAt(secret, -1);
  assert.equal(
    (await world.identity.signIn.withCode({ step: three, code: older }, browser())).kind,
    'failed',
  );
  world.clock.advance(30_000);
  tokenOf(await world.identity.signIn.withCode({ step: three, code: codeAt(secret) }, browser()));
});

test('the code that turned TOTP on opens no session', async () => {
  const { email, ownerId } = await anOwner();
  const { secret } = await withTotp(ownerId);
  const outcome = await world.identity.signIn.withCode(
    { step: await stepOf(email), code: codeAt(secret) },
    browser(),
  );
  assert.equal(outcome.kind, 'failed');
});

test('codes are valid for one step before and after, also over midnight', async () => {
  const { email, ownerId } = await anOwner();
  const { secret } = await withTotp(ownerId);
  world.clock.freeze('2026-12-31T15:00:00.000Z');
  for (const [offset, kind] of [
    [-2, 'failed'],
    [-1, 'session'],
    [2, 'failed'],
    [1, 'session'],
  ] as const) {
    const step = await stepOf(email);
    const outcome = await world.identity.signIn.withCode({ step, code: codeAt(secret, offset) }, browser());
    assert.equal(outcome.kind, kind, String(offset));
  }
  world.clock.thaw();
});

test('a recovery code replaces a code once', async () => {
  const { email, ownerId } = await anOwner();
  const { codes } = await withTotp(ownerId);
  assert.equal(new Set(codes).size, 10);
  const [code = ''] = codes;
  const typed = code.toUpperCase().replaceAll('-', ' ');
  tokenOf(await world.identity.signIn.withCode({ step: await stepOf(email), code: typed }, browser()));
  assert.equal(await world.identity.owners.recoveryCodesLeft(ownerId), 9);
  assert.equal(
    (await world.identity.signIn.withCode({ step: await stepOf(email), code }, browser())).kind,
    'failed',
  );
});

// security:43
test('guesses of codes are limited by step and by owner, and new steps give no more', async () => {
  const { email, ownerId } = await anOwner();
  const { secret } = await withTotp(ownerId);
  world.clock.advance(60_000);
  const kinds: string[] = [];
  for (let n = 0; n < 3; n += 1) {
    const step = await stepOf(email);
    for (let guess = 0; guess < 6; guess += 1)
      kinds.push(
        (await world.identity.signIn.withCode({ step, code: codeAt(secret, 100 + guess) }, browser())).kind,
      );
  }
  // Five for a step; then ten for the owner, after which even the right code waits.
  assert.deepEqual(
    kinds.slice(0, 12).filter((kind) => kind === 'throttled'),
    [],
  );
  assert.ok(kinds.slice(12, 17).every((kind) => kind === 'throttled'));
  const step = await stepOf(email);
  assert.equal(
    (await world.identity.signIn.withCode({ step, code: codeAt(secret) }, browser())).kind,
    'throttled',
  );
});

test('TOTP that is on is not replaced, and turning it off deletes its secret', async () => {
  const { email, ownerId } = await anOwner();
  await withTotp(ownerId);
  assert.equal(await world.identity.owners.beginTotp(ownerId), null);
  await world.identity.owners.disableTotp(ownerId);
  tokenOf(await signIn(email, password));
  const [row] = await world.database.query<{ secret: unknown }>(
    'SELECT totp_secret AS secret FROM owner WHERE id = $1',
    [ownerId],
  );
  assert.equal(row?.secret, null);
});

test('credentials are changed by a recent session, or with the password', async () => {
  const { token } = await anOwner();
  const session = (await world.identity.findSession(token)) ?? assert.fail();
  assert.ok(session.kind === 'owner');
  const confirm = (secret: string | null) => world.identity.owners.confirm(session, secret, browser());
  assert.equal(await confirm(null), 'confirmed');
  world.clock.advance(16 * 60_000);
  assert.equal(await confirm(null), 'confirm');
  assert.equal(await confirm('wrong password'), 'confirm');
  assert.equal(await confirm(password), 'confirmed');
});

test('a password of less than 10 or more than 256 characters is refused', async () => {
  const { ownerId } = await anOwner();
  for (const weak of ['', '123456789', 'x'.repeat(257), '\ud800'.repeat(12)])
    assert.equal(await world.identity.owners.setPassword(ownerId, weak, '0'), 'weak_password');
  assert.equal(await world.identity.owners.setPassword(ownerId, '비밀번호는열자이상', '0'), 'weak_password');
  assert.equal(await world.identity.owners.setPassword(ownerId, '비밀번호는 열 자 이상', '0'), 'done');
});
