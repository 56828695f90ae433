/** OpenID Connect against a real provider, which runs as a process of its own. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import type { OidcConfig } from '../../src/config/config.ts';
import { Secret } from '../../src/config/secret.ts';
import { parseEmail } from '../../src/identity/email.ts';
import { type OpenIdProvider, startProvider } from './openid-provider.ts';
import { browser, cli, type IdentityWorld, openIdentityAt, openWorld, password, tokenOf } from './world.ts';

const redirectUri = 'http://localhost:9999/dashboard/api/sign-in/oidc/callback';
let provider: OpenIdProvider;
let issuer: string;
let world: IdentityWorld;

before(async () => {
  provider = await startProvider(redirectUri);
  issuer = provider.issuer;
  world = await openWorld(settings());
});
after(() => provider?.stop());

function settings(changed: Partial<OidcConfig> = {}): OidcConfig {
  return {
    name: 'Test',
    issuer,
    clientId: 'naru',
    clientSecret: new Secret('secret-of-the-client'),
    allowedDomains: [],
    createAccounts: false,
    assumesVerifiedEmail: false,
    operatorRoles: {},
    groupsClaim: 'groups',
    ...changed,
  };
}

const oidcOf = (node = world.identity) => node.oidc ?? assert.fail('no provider');

async function begin(node = world.identity) {
  return (await oidcOf(node).begin('owner', redirectUri)) ?? assert.fail('the provider is not reachable');
}

async function signIn(person: string, node = world.identity) {
  const { url, step } = await begin(node);
  return oidcOf(node).end('owner', step, await provider.visit(url, person), browser());
}

test('an owner whose address an operator stated signs in, on another node than it began', async () => {
  const accountId = await world.account();
  const { ownerId } = await world.owner(accountId, 'known@example.com');
  const { url, step } = await begin();
  const outcome = await oidcOf(world.other).end(
    'owner',
    step,
    await provider.visit(url, 's1|Known@Example.com|true'),
    browser(),
  );
  const session = await world.identity.findSession(tokenOf(outcome));
  assert.ok(session?.kind === 'owner');
  assert.deepEqual([session.accountId, session.ownerId, session.via], [accountId, ownerId, 'oidc']);
  // From then on the person is known by its subject, whatever its address is.
  const again = await world.identity.findSession(tokenOf(await signIn('s1|renamed@example.com|true')));
  assert.ok(again?.kind === 'owner' && again.ownerId === ownerId);
});

test('the request has PKCE, state and nonce', async () => {
  const { searchParams } = new URL((await begin()).url);
  assert.equal(searchParams.get('code_challenge_method'), 'S256');
  for (const name of ['code_challenge', 'state', 'nonce'])
    assert.ok((searchParams.get(name) ?? '').length >= 43, name);
  assert.equal(searchParams.get('redirect_uri'), redirectUri);
});

// security:49
test('another person of the provider with the address of a linked owner is refused', async () => {
  await world.owner(await world.account(), 'reused@example.com');
  tokenOf(await signIn('s2|reused@example.com|true'));
  assert.deepEqual(await signIn('s3|reused@example.com|true'), { kind: 'refused', why: 'other_identity' });
});

test('an address that the provider did not verify is refused', async () => {
  await world.owner(await world.account(), 'unverified@example.com');
  assert.deepEqual(await signIn('s4|unverified@example.com|false'), {
    kind: 'refused',
    why: 'email_not_verified',
  });
});

// security:49
test('an owner who stated the address is not taken over, and no other person gets its account', async () => {
  const accountId = await world.account();
  const link = await world.identity.links.invite(accountId, null, cli);
  if (typeof link === 'string') assert.fail(link);
  const order = { token: link.token, password, email: 'victim@example.com', name: null };
  tokenOf(await world.identity.owners.redeem(order, browser()));
  assert.deepEqual(await signIn('s5|victim@example.com|true'), {
    kind: 'refused',
    why: 'email_not_confirmed',
  });
  // An invitation to that address is how an operator vouches for it.
  const again = await world.identity.links.invite(accountId, parseEmail('victim@example.com'), cli);
  if (typeof again === 'string') assert.fail(again);
  tokenOf(await world.identity.owners.redeem({ ...order, token: again.token }, browser()));
  tokenOf(await signIn('s5|victim@example.com|true'));
});

test('an unknown person gets an account only if the configuration creates them', async () => {
  assert.deepEqual(await signIn('s6|new@example.com|true'), { kind: 'refused', why: 'no_account' });
  const creating = openIdentityAt(world, settings({ createAccounts: true }));
  const { url, step } = await begin(creating);
  const outcome = await oidcOf(creating).end(
    'owner',
    step,
    await provider.visit(url, 's6|new@example.com|true'),
    browser(),
  );
  const session = await world.identity.findSession(tokenOf(outcome));
  assert.ok(session?.kind === 'owner');
  const [account] = await world.database.query<{ name: string; email: string }>(
    'SELECT name, email FROM account WHERE id = $1',
    [session.accountId],
  );
  assert.deepEqual(account, { name: 'Person s6', email: 'new@example.com' });
  // Two first sign-ins at once make one account.
  const visits = await Promise.all(
    [0, 1].map(async () => {
      const begun = await begin(creating);
      return { step: begun.step, returned: await provider.visit(begun.url, 's7|twice@example.com|true') };
    }),
  );
  const both = await Promise.all(
    visits.map((one) => oidcOf(creating).end('owner', one.step, one.returned, browser())),
  );
  const sessions = await Promise.all(both.map((one) => world.identity.findSession(tokenOf(one))));
  assert.equal(new Set(sessions.map((one) => one?.kind === 'owner' && one.accountId)).size, 1);
  const made = await world.database.query("SELECT FROM account WHERE email = 'twice@example.com'");
  assert.equal(made.length, 1);
});

test('an address of a domain that is not allowed is refused', async () => {
  await world.owner(await world.account(), 'me@outside.example');
  const strict = openIdentityAt(world, settings({ allowedDomains: ['example.com'] }));
  assert.deepEqual(await signIn('s8|me@outside.example|true', strict), {
    kind: 'refused',
    why: 'domain_not_allowed',
  });
  assert.deepEqual(await signIn('s9|me@evil-example.com|true', strict), {
    kind: 'refused',
    why: 'domain_not_allowed',
  });
});

// security:49
test('a return without its step, with another state, or for the second time is refused', async () => {
  await world.owner(await world.account(), 'return@example.com');
  const person = 's10|return@example.com|true';
  const invalid = { kind: 'refused', why: 'invalid_state' };
  const first = await begin();
  const returned = await provider.visit(first.url, person);
  const second = await begin();
  // The attacker's own return in the browser of a victim: a login CSRF.
  assert.deepEqual(await oidcOf().end('owner', 'a'.repeat(43), returned, browser()), invalid);
  assert.deepEqual(await oidcOf().end('owner', second.step, returned, browser()), invalid);
  tokenOf(await oidcOf().end('owner', first.step, returned, browser()));
  assert.deepEqual(await oidcOf().end('owner', first.step, returned, browser()), invalid);
});

// security:49
test('a code of another request is refused, even with the right state', async () => {
  await world.owner(await world.account(), 'inject@example.com');
  const person = 's11|inject@example.com|true';
  const [one, two] = [await begin(), await begin()];
  const stolen = (await provider.visit(one.url, person)).searchParams.get('code') ?? '';
  const returned = await provider.visit(two.url, person);
  returned.searchParams.set('code', stolen);
  assert.deepEqual(await oidcOf().end('owner', two.step, returned, browser()), {
    kind: 'refused',
    why: 'provider_failed',
  });
});

test('an error of the provider is a refusal', async () => {
  const { url, step } = await begin();
  const returned = new URL(redirectUri);
  returned.searchParams.set('error', 'access_denied');
  returned.searchParams.set('state', new URL(url).searchParams.get('state') ?? '');
  assert.deepEqual(await oidcOf().end('owner', step, returned, browser()), {
    kind: 'refused',
    why: 'provider_failed',
  });
});

test('a provider that is away is a refusal, and is tried again', async () => {
  let isAway = true;
  const front = createServer((request, response) => {
    if (isAway) return void response.writeHead(503).end();
    const { port } = front.address() as AddressInfo;
    void fetch(`${issuer}${request.url}`).then(async (real) => {
      response.writeHead(real.status, { 'Content-Type': 'application/json' });
      response.end((await real.text()).replaceAll(issuer, `http://127.0.0.1:${port}`));
    });
  });
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  after(() => front.close());
  const { port } = front.address() as AddressInfo;
  const node = openIdentityAt(world, settings({ issuer: `http://127.0.0.1:${port}` }));
  assert.equal(await oidcOf(node).begin('owner', redirectUri), null);
  isAway = false;
  assert.notEqual(await oidcOf(node).begin('owner', redirectUri), null);
});
