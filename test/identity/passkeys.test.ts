/** Passkeys, with a software authenticator that makes real bytes. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { passkeySite } from '../../src/identity/passkeys.ts';
import { type AuthenticatorFlaws, SoftwareAuthenticator } from './software-authenticator.ts';
import { browser, type IdentityWorld, openWorld, tokenOf } from './world.ts';

const origin = 'https://naru.example';
const site = passkeySite(origin) ?? assert.fail();
let world: IdentityWorld;
let ownerId: number;
const authenticator = new SoftwareAuthenticator(origin);

before(async () => {
  world = await openWorld();
  ({ ownerId } = await world.owner(await world.account(), 'passkey@example.com'));
  assert.notEqual(await register(authenticator), null);
});

async function register(device: SoftwareAuthenticator, flaws: AuthenticatorFlaws = {}, owner = ownerId) {
  const begun = (await world.identity.passkeys.beginRegistration(owner, site)) ?? assert.fail();
  const response = device.create(begun.options, flaws);
  // Another node completes what the first began.
  return world.other.passkeys.register(owner, site, { step: begun.step, name: '내 노트북', response });
}

async function signIn(flaws: AuthenticatorFlaws = {}, device = authenticator) {
  const { step, options } = await world.identity.passkeys.beginSignIn(site);
  const response = device.get(options, flaws);
  return world.other.signIn.withPasskey(site, { step, response }, browser());
}

test('an owner signs in with a passkey, on another node than the one that made the challenge', async () => {
  const session = await world.identity.findSession(tokenOf(await signIn()));
  assert.ok(session?.kind === 'owner');
  assert.deepEqual([session.ownerId, session.via], [ownerId, 'passkey']);
  const [row] = await world.identity.passkeys.list(ownerId);
  assert.equal(row?.name, '내 노트북');
  assert.notEqual(row?.lastUsedAtMs, null);
});

test('a registration that does not match the challenge is refused', async () => {
  const wrong: readonly AuthenticatorFlaws[] = [
    { origin: 'https://evil.example' },
    { host: 'evil.example' },
    { challenge: Buffer.from('other').toString('base64url') },
    { type: 'webauthn.get' },
    { isUserVerified: false },
  ];
  for (const flaws of wrong)
    assert.equal(await register(new SoftwareAuthenticator(origin), flaws), null, JSON.stringify(flaws));
  assert.equal((await world.identity.passkeys.list(ownerId)).length, 1);
});

// security:48
test('a response that does not match the challenge is refused', async () => {
  const wrong: readonly AuthenticatorFlaws[] = [
    { origin: 'https://evil.example' },
    { host: 'evil.example' },
    { challenge: Buffer.from('other').toString('base64url') },
    { type: 'webauthn.create' },
    { isUserVerified: false },
    { isForged: true },
  ];
  for (const flaws of wrong) assert.deepEqual(await signIn(flaws), { kind: 'failed' }, JSON.stringify(flaws));
  assert.deepEqual(await signIn({}, new SoftwareAuthenticator(origin)), { kind: 'failed' });
});

// security:48
test('a challenge is accepted once, also when its response arrives twice at the same time', async () => {
  const { step, options } = await world.identity.passkeys.beginSignIn(site);
  const response = authenticator.get(options);
  const outcomes = await Promise.all(
    [world.identity, world.other].map((node) => node.signIn.withPasskey(site, { step, response }, browser())),
  );
  assert.deepEqual(outcomes.map(({ kind }) => kind).sort(), ['failed', 'session']);
});

test('a challenge is valid for ten minutes', async () => {
  const { step, options } = await world.identity.passkeys.beginSignIn(site);
  world.clock.advance(600_001);
  const outcome = await world.identity.signIn.withPasskey(
    site,
    { step, response: authenticator.get(options) },
    browser(),
  );
  assert.deepEqual(outcome, { kind: 'failed' });
});

test('a counter that goes back, as of a copied authenticator, is refused', async () => {
  tokenOf(await signIn({ count: 1_000 }));
  assert.deepEqual(await signIn({ count: 999 }), { kind: 'failed' });
  tokenOf(await signIn({ count: 1_001 }));
});

// security:46
test('a passkey of one owner is neither added to nor removed by another', async () => {
  const other = await world.owner(await world.account(), 'other-passkey@example.com');
  assert.equal(await register(authenticator, {}, other.ownerId), null);
  const [row] = await world.identity.passkeys.list(ownerId);
  assert.equal(await world.identity.passkeys.remove(other.ownerId, row?.passkeyId ?? 0), false);
  const begun = (await world.identity.passkeys.beginRegistration(ownerId, site)) ?? assert.fail();
  const response = new SoftwareAuthenticator(origin).create(begun.options);
  const answer = { step: begun.step, name: 'x', response };
  assert.equal(await world.identity.passkeys.register(other.ownerId, site, answer), null);
});

test('a removed passkey opens no session', async () => {
  const device = new SoftwareAuthenticator(origin);
  const row = (await register(device)) ?? assert.fail();
  tokenOf(await signIn({ count: 1 }, device));
  assert.equal(await world.identity.passkeys.remove(ownerId, row.passkeyId), true);
  assert.deepEqual(await signIn({ count: 2 }, device), { kind: 'failed' });
});

test('an invalid response to a challenge is refused', async () => {
  const { step } = await world.identity.passkeys.beginSignIn(site);
  const id = authenticator.id.toString('base64url');
  const response = { clientDataJSON: '%', authenticatorData: '', signature: 'AA' };
  const garbage = { id, rawId: id, type: 'public-key' as const, clientExtensionResults: {}, response };
  assert.deepEqual(await world.identity.signIn.withPasskey(site, { step, response: garbage }, browser()), {
    kind: 'failed',
  });
});

test('passkeys exist where browsers permit them', () => {
  assert.deepEqual(passkeySite('https://naru.example:8443'), {
    origin: 'https://naru.example:8443',
    host: 'naru.example',
  });
  assert.deepEqual(passkeySite('http://localhost:8787'), {
    origin: 'http://localhost:8787',
    host: 'localhost',
  });
  for (const none of [
    'http://naru.example',
    'http://127.0.0.1:8787',
    'https://127.0.0.1',
    'https://[::1]',
    'x',
  ])
    assert.equal(passkeySite(none), null, none);
});
