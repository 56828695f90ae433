/** Operators at a real OpenID provider, whose groups decide their roles, and with passkeys. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Secret } from '../../src/config/secret.ts';
import { passkeySite } from '../../src/identity/passkeys.ts';
import type { Session } from '../../src/identity/sessions.ts';
import type { SignInOutcome } from '../../src/identity/sign-in.ts';
import { type OpenIdProvider, startProvider } from './openid-provider.ts';
import { SoftwareAuthenticator } from './software-authenticator.ts';
import { browser, cli, type IdentityWorld, openIdentityAt, openWorld, tokenOf } from './world.ts';

const redirectUri = 'https://console.example/console/api/sign-in/oidc/callback';
const origin = 'https://console.example';
const site = passkeySite(origin) ?? assert.fail();
let provider: OpenIdProvider;
let world: IdentityWorld;

before(async () => {
  provider = await startProvider(redirectUri);
  world = await openWorld({
    name: 'Test',
    issuer: provider.issuer,
    clientId: 'naru',
    clientSecret: new Secret('secret-of-the-client'),
    allowedDomains: [],
    createAccounts: true,
    assumesVerifiedEmail: false,
    operatorRoles: { staff: 'viewer', desk: 'support', ops: 'admin' },
    groupsClaim: 'groups',
  });
});
after(() => provider?.stop());

const oidcOf = (node = world.identity) => node.oidc ?? assert.fail('no provider');
type Outcome = SignInOutcome | { readonly kind: 'refused'; readonly why: string };

async function signIn(person: string, of: 'owner' | 'operator' = 'operator'): Promise<Outcome> {
  const { url, step } = (await oidcOf().begin(of, redirectUri)) ?? assert.fail('no provider');
  // Another node completes what the first began.
  return oidcOf(world.other).end(of, step, await provider.visit(url, person), browser());
}

async function operatorOf(outcome: Outcome): Promise<Extract<Session, { kind: 'operator' }>> {
  const session = await world.identity.findSession(tokenOf(outcome));
  return session?.kind === 'operator' ? session : assert.fail('no session of an operator');
}

const refused = (why: string) => ({ kind: 'refused', why });

async function actsOf(name: string): Promise<readonly (readonly [string, string | null, unknown])[]> {
  const acts = await world.identity.readActs({ limit: 100 });
  return acts
    .filter((act) => act.subject === name)
    .map(({ act, who, after }) => [act, who, after] as const)
    .reverse();
}

// spec:operator/4.3
test('the groups of a person decide the role at each sign-in, and the audit log has the person', async () => {
  const name = 'kim@example.com';
  const first = await operatorOf(await signIn(`o1|${name}|true|guests,staff`));
  assert.deepEqual([first.name, first.role], [name, 'viewer']);
  const open = tokenOf(await signIn(`o1|${name}|true|staff`));
  // The address changed at the provider: the subject is the person, and the highest group counts.
  const second = await operatorOf(await signIn('o1|lee@example.com|true|staff,ops'));
  assert.deepEqual([second.operatorId, second.name, second.role], [first.operatorId, name, 'admin']);
  const before = await world.identity.findSession(open);
  assert.ok(before?.kind === 'operator' && before.role === 'admin', 'open sessions have the new role');
  await signIn(`o1|${name}|true|desk`);
  const signedIn = ['operator.sign_in', name, { via: 'oidc' }] as const;
  assert.deepEqual(await actsOf(name), [
    ['operator.add', name, { role: 'viewer', issuer: provider.issuer }],
    signedIn,
    signedIn,
    ['operator.role', name, { role: 'admin' }],
    signedIn,
    ['operator.role', name, { role: 'support' }],
    signedIn,
  ]);
});

// spec:operator/4.3
test('without a group nobody is an operator, and who loses it loses the open sessions', async () => {
  for (const groups of ['', '|guests', '|STAFF', '|constructor', '|__proto__'])
    assert.deepEqual(await signIn(`o2|park@example.com|true${groups}`), refused('no_group'), groups);
  assert.equal(await world.identity.operators.find('park@example.com'), null);
  // An owner of the dashboard by the same provider is none either.
  tokenOf(await signIn('o2|park@example.com|true', 'owner'));
  assert.deepEqual(await signIn('o2|park@example.com|true'), refused('no_group'));
  for (const verified of ['false', 'unstated'])
    assert.deepEqual(await signIn(`o2|park@example.com|${verified}|ops`), refused('email_not_verified'));
  const open = tokenOf(await signIn('o2|park@example.com|true|ops'));
  assert.deepEqual(await signIn('o2|park@example.com|true|guests'), refused('no_group'));
  assert.equal(await world.identity.findSession(open), null);
  assert.deepEqual((await actsOf('park@example.com')).at(-1)?.[2], { refused: 'no_group' });
});

// spec:operator/4.3
test('a removed operator stays removed, also one that had never signed in there, until it is added again', async () => {
  const { operators } = world.identity;
  const linked = 'choi@example.com';
  const open = tokenOf(await signIn(`o3|${linked}|true|ops`));
  await operators.add({ name: 'by-link@example.com', role: 'admin' }, cli);
  for (const [subject, name] of [
    ['o3', linked],
    ['o4', 'by-link@example.com'],
  ] as const) {
    assert.ok(typeof (await operators.remove(name, 'left', cli)) === 'object');
    assert.deepEqual(await signIn(`${subject}|${name}|true|ops`), refused('operator_removed'));
    assert.equal(await operators.find(name), null);
    await operators.add({ name, role: 'viewer' }, cli);
    const again = await operatorOf(await signIn(`${subject}|${name}|true|desk`));
    assert.deepEqual([again.name, again.role], [name, 'support']);
  }
  assert.equal(await world.identity.findSession(open), null);
});

// security:49
test('another person with the address of an operator is refused; so is the address of a machine', async () => {
  tokenOf(await signIn('o5|jung@example.com|true|staff'));
  assert.deepEqual(await signIn('o6|Jung@example.com|true|ops'), refused('other_identity'));
  const expiresAtMs = world.clock.now() + 86_400_000;
  await world.identity.tokens.create({ name: 'bot@example.com', role: 'admin', expiresAtMs }, cli);
  assert.deepEqual(await signIn('o7|bot@example.com|true|ops'), refused('other_identity'));
});

// security:49
test('a sign-in that began at the dashboard does not end at the console, nor the reverse', async () => {
  const person = 'o8|han@example.com|true|ops';
  for (const [of, other] of [
    ['owner', 'operator'],
    ['operator', 'owner'],
  ] as const) {
    const { url, step } = (await oidcOf().begin(of, redirectUri)) ?? assert.fail();
    const returned = await provider.visit(url, person);
    assert.deepEqual(await oidcOf().end(other, step, returned, browser()), refused('invalid_state'));
    // It is used up: a replay where it belongs fails too.
    assert.deepEqual(await oidcOf().end(of, step, returned, browser()), refused('invalid_state'));
  }
});

test('two first sign-ins of one person at once are one operator', async () => {
  const both = await Promise.all([0, 1].map(() => signIn('o9|yoon@example.com|true|staff')));
  const [one, two] = await Promise.all(both.map(operatorOf));
  assert.equal(one?.operatorId, two?.operatorId);
});

async function addPasskey(operatorId: number, device: SoftwareAuthenticator) {
  const begun = await world.identity.operatorPasskeys.beginRegistration(operatorId, site);
  if (begun === null) return null;
  const reply = { step: begun.step, name: '노트북', response: device.create(begun.options) };
  return world.other.operatorPasskeys.register(operatorId, site, reply);
}

async function withPasskey(device: SoftwareAuthenticator, as: 'owner' | 'operator' = 'operator') {
  const { passkeys, operatorPasskeys } = world.identity;
  const { step, options } = await (as === 'owner' ? passkeys : operatorPasskeys).beginSignIn(site);
  const reply = { step, response: device.get(options) };
  const { signIn: ways } = world.other;
  return as === 'owner'
    ? ways.withPasskey(site, reply, browser())
    : ways.withOperatorPasskey(site, reply, browser());
}

// spec:operator/4.4
// security:48
test('a passkey of an operator signs in to the console only, and ends with the operator', async () => {
  const added = await world.identity.operators.add({ name: 'passkey', role: 'support' }, cli);
  if (typeof added === 'string') assert.fail(added);
  const { ownerId } = await world.owner(await world.account(), 'passkey-owner@example.com');
  const [device, ofOwner] = [new SoftwareAuthenticator(origin), new SoftwareAuthenticator(origin)];
  assert.notEqual(await addPasskey(added.operatorId, device), null);
  const begun = (await world.identity.passkeys.beginRegistration(ownerId, site)) ?? assert.fail();
  const reply = { step: begun.step, name: 'x', response: ofOwner.create(begun.options) };
  // Not with the challenge of the other kind, whatever the ids are.
  assert.equal(await world.identity.operatorPasskeys.register(ownerId, site, reply), null);
  const again = (await world.identity.passkeys.beginRegistration(ownerId, site)) ?? assert.fail();
  const response = ofOwner.create(again.options);
  assert.notEqual(
    await world.identity.passkeys.register(ownerId, site, { ...reply, step: again.step, response }),
    null,
  );
  const session = await operatorOf(await withPasskey(device));
  assert.deepEqual([session.name, session.role], ['passkey', 'support']);
  assert.deepEqual((await actsOf('passkey')).at(-1), ['operator.sign_in', 'passkey', { via: 'passkey' }]);
  assert.equal((await withPasskey(device, 'owner')).kind, 'failed');
  assert.equal((await withPasskey(ofOwner)).kind, 'failed');
  tokenOf(await withPasskey(ofOwner, 'owner'));
  await world.identity.operators.remove('passkey', null, cli);
  assert.equal((await withPasskey(device)).kind, 'failed');
});

// spec:operator/4.4
test('an operator of the provider has no passkey, whose groups it would not follow', async () => {
  const added = await world.identity.operators.add({ name: 'shin@example.com', role: 'admin' }, cli);
  if (typeof added === 'string') assert.fail(added);
  const device = new SoftwareAuthenticator(origin);
  assert.notEqual(await addPasskey(added.operatorId, device), null);
  const linked = await operatorOf(await signIn('o10|shin@example.com|true|staff'));
  assert.deepEqual([linked.operatorId, linked.role], [added.operatorId, 'viewer']);
  assert.equal((await withPasskey(device)).kind, 'failed');
  assert.equal(await addPasskey(added.operatorId, new SoftwareAuthenticator(origin)), null);
  assert.equal(await world.identity.operatorPasskeys.mayHave(added.operatorId), false);
});

test('the groups may be in another claim, one group may be a text, and an address unstated', async () => {
  const { oidc } = openIdentityAt(world, {
    name: 'Test',
    issuer: provider.issuer,
    clientId: 'naru',
    clientSecret: new Secret('secret-of-the-client'),
    allowedDomains: ['example.com'],
    createAccounts: false,
    assumesVerifiedEmail: true,
    operatorRoles: { 'Person o11': 'support' },
    groupsClaim: 'name',
  });
  const begin = () => oidc?.begin('operator', redirectUri) ?? assert.fail();
  for (const [person, outcome] of [
    ['seo@outside.example|true', 'refused'],
    ['seo@example.com|false', 'refused'],
    ['seo@example.com|true', 'session'],
    ['seo@example.com|unstated', 'session'],
  ] as const) {
    const { url, step } = (await begin()) ?? assert.fail();
    const returned = await provider.visit(url, `o11|${person}`);
    assert.equal((await oidc?.end('operator', step, returned, browser()))?.kind, outcome, person);
  }
});
