/** Profile, export and deletion of personal data. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { passkeySite } from '../../src/identity/passkeys.ts';
import { totpCode, totpStepAt } from '../../src/identity/totp-code.ts';
import { SoftwareAuthenticator } from './software-authenticator.ts';
import { browser, cli, type IdentityWorld, openWorld, password } from './world.ts';

let world: IdentityWorld;
before(async () => {
  world = await openWorld();
});

const origin = 'https://naru.example';

/** An owner with everything that an owner can have. */
async function fullOwner(email: string) {
  const accountId = await world.account('가게', email);
  const { token, ownerId } = await world.owner(accountId, email);
  const { identity } = world;
  const site = passkeySite(origin) ?? assert.fail();
  const begun = (await identity.passkeys.beginRegistration(ownerId, site)) ?? assert.fail();
  const response = new SoftwareAuthenticator(origin).create(begun.options);
  assert.notEqual(
    await identity.passkeys.register(ownerId, site, { step: begun.step, name: '열쇠', response }),
    null,
  );
  await identity.owners.beginTotp(ownerId);
  const [row] = await world.database.query<{ secret: Buffer }>(
    'SELECT totp_secret AS secret FROM owner WHERE id = $1',
    [ownerId],
  );
  const code = totpCode(row?.secret ?? assert.fail(), totpStepAt(world.clock.now()));
  const codes = (await identity.owners.enableTotp(ownerId, code)) ?? assert.fail();
  return { accountId, ownerId, token, codes, secret: row?.secret };
}

test('preferences are changed one by one, and a name can be removed', async () => {
  const { ownerId } = await world.owner(await world.account(), 'profile@example.com');
  const { owners } = world.identity;
  await owners.updateProfile(ownerId, { name: '김 나루', preferences: { language: 'ko', theme: 'dark' } });
  const after = await owners.updateProfile(ownerId, { preferences: { theme: 'light' } });
  assert.deepEqual(after?.preferences, { language: 'ko', theme: 'light' });
  assert.equal(after?.name, '김 나루');
  assert.equal((await owners.updateProfile(ownerId, { name: null }))?.name, null);
  assert.equal(await owners.updateProfile(999_999, { name: 'x' }), null);
});

test('the export has everything about the person, and no secret', async () => {
  const { ownerId, token, codes, secret } = await fullOwner('export@example.com');
  const text = JSON.stringify(await world.identity.owners.exportData(ownerId));
  for (const part of ['export@example.com', '열쇠', 'Test/1.0', '"via":"link"'])
    assert.ok(text.includes(part), part);
  for (const hidden of [
    token,
    'argon2id',
    secret?.toString('hex') ?? '-',
    secret?.toString('base64') ?? '-',
    ...codes,
  ])
    assert.ok(!text.includes(hidden), hidden);
  assert.equal(await world.identity.owners.exportData(999_999), null);
});

test('a deletion removes the person everywhere, and keeps the account and its ledger', async () => {
  const { accountId, ownerId, token } = await fullOwner('delete-me@example.com');
  const link = await world.identity.links.invite(
    accountId,
    { text: 'Delete-Me@example.com', key: 'delete-me@example.com' },
    cli,
  );
  if (typeof link === 'string') assert.fail(link);
  assert.equal(await world.identity.owners.deleteData(ownerId), true);
  assert.equal(await world.identity.findSession(token), null);
  const tables = await world.database.query<{ name: string }>(
    "SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')",
  );
  for (const { name } of tables) {
    const rows = await world.database.query(
      `SELECT FROM ${name} t WHERE t::text ILIKE '%delete-me@example%'`,
    );
    assert.equal(rows.length, 0, name);
  }
  const [account] = await world.database.query<{ name: string }>('SELECT name FROM account WHERE id = $1', [
    accountId,
  ]);
  assert.equal(account?.name, '가게');
  assert.equal(await world.identity.owners.deleteData(ownerId), false);
  const outcome = await world.identity.signIn.withPassword(
    { email: 'delete-me@example.com', password },
    browser(),
  );
  assert.equal(outcome.kind, 'failed');
});
