/** Profile, export and deletion of personal data. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { passkeySite } from '../../src/identity/passkeys.ts';
import { totpCode, totpStepAt } from '../../src/identity/totp-code.ts';
import { requestTopup } from '../../src/ledger/topup-requests.ts';
import { krwOfMicro } from '../../src/money/krw.ts';
import { createOperatorService } from '../../src/operations/operator-service.ts';
import { SoftwareAuthenticator } from './software-authenticator.ts';
import { browser, cli, type IdentityWorld, openWorld, password } from './world.ts';

let world: IdentityWorld;
before(async () => {
  world = await openWorld();
});

const origin = 'https://naru.example';

/** The tables with a row that has this text anywhere. */
async function tablesWith(text: string): Promise<readonly string[]> {
  const tables = await world.database.query<{ name: string }>(
    "SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')",
  );
  const found: string[] = [];
  for (const { name } of tables)
    if (
      (await world.database.query(`SELECT FROM ${name} t WHERE t::text ILIKE $1`, [`%${text}%`])).length > 0
    )
      found.push(name);
  return found;
}

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
  assert.deepEqual(await tablesWith('delete-me@example'), []);
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

// spec:operator/1.28
test('an operator erases the person of a closed account once: no table has the address or a name, the ledger stays', async () => {
  const email = 'hong@example.com';
  const { accountId, ownerId, token } = await fullOwner(email);
  const { database, clock, identity } = world;
  await identity.owners.updateProfile(ownerId, { name: '홍길동' });
  const operator = createOperatorService(database, { clock, keyPrefix: 'sk-naru-', close: async () => {} });
  await operator.renameAccount(accountId, '홍길동 연구실');
  await operator.setBusinessNumber(accountId, '1248100998');
  const order = { amount: krwOfMicro(7_000_000n), expiresAtMs: null, idempotencyKey: null };
  await operator.grantCredit({ ...order, accountId, kind: 'topup', memo: 'invoice 7' });
  const key = { accountId, kind: 'inference', name: '홍길동 노트북', limit: null } as const;
  const { hash } = await operator.createKey({ ...key, limitReset: 'never', expiresAtMs: null });
  const topup = { accountId, amount: order.amount, depositor: '홍길동', note: `영수증은 ${email}` };
  await requestTopup(database, topup, clock.now());
  const paid = await requestTopup(database, topup, clock.now());
  if (paid.kind !== 'done') assert.fail(paid.kind);
  await operator.confirmTopup({ id: paid.request.id, bankReference: 'T-1' });
  const reason = `Hong@example.com wrote; not mahong@example.com`;
  await operator.suspendKey({ hash, suspended: true, reason });
  await operator.suspendAccount({ accountId, suspended: true, reason });
  for (const [scope, reply] of [
    ['operator 1', { email }],
    [`account ${accountId}`, { name: '홍길동' }],
  ] as const)
    await database.query("INSERT INTO page_change VALUES ($1, '\\x00', '\\x00', now(), $2)", [
      scope,
      JSON.stringify(reply),
    ]);
  assert.equal((await operator.erasePerson(accountId)).kind, 'open');
  await operator.closeAccount({ accountId, closed: true, reason: `${email} asked` });
  const before = (await operator.readPersonalData(accountId)) ?? assert.fail();
  assert.deepEqual(
    { ...before.removed },
    {
      ...{ account_name: 1, contact_address: 1, owner: 1, passkeys: 1, openid_identities: 0 },
      ...{ sessions: 0, links: 0, key_names: 1, app_names: 0, topup_texts: 2, messages: 3 },
    },
  );
  const outcomes = await Promise.all([1, 2].map(() => operator.erasePerson(accountId)));
  assert.deepEqual(outcomes.map(({ kind }) => kind).toSorted(), ['done', 'unchanged']);
  assert.equal((await operator.erasePerson(999_999)).kind, 'not_found');
  assert.equal(await identity.findSession(token), null);
  assert.deepEqual(await tablesWith(` ${email}`), []);
  assert.deepEqual(await tablesWith(`"${email}`), []);
  // Who paid stays with the payment, and another address stays as it is.
  assert.deepEqual(await tablesWith('홍길동'), ['topup_request']);
  const [suspension] = await identity.readActs({ limit: 1, act: 'account.suspend', accountId });
  assert.equal(suspension?.reason, 'erased wrote; not mahong@example.com');
  const [act, ...more] = await identity.readActs({ limit: 2, act: 'account.erase_person', accountId });
  assert.deepEqual([act?.after, more], [{ ...before.removed }, []]);
  const after = (await operator.readPersonalData(accountId)) ?? assert.fail();
  assert.ok(Object.values(after.removed).every((count) => count === 0));
  assert.deepEqual(after.kept, { ...before.kept, audit_entries: before.kept.audit_entries + 1 });
  const row = await operator.readAccount(accountId);
  assert.deepEqual([row?.name, row?.credits], [`account ${accountId}`, 14_000_000n]);
  assert.equal((await operator.verifyLedger()).differences.length, 0);
});

// spec:operator/1.28
test('an erasure finds the address of an earlier owner where it is stated: nothing else has it', async () => {
  const email = 'earlier@example.com';
  const accountId = await world.account('가게', email);
  await world.owner(accountId, email);
  const { database, clock, identity } = world;
  const operator = createOperatorService(database, { clock, keyPrefix: 'sk-naru-', close: async () => {} });
  await operator.suspendAccount({ accountId, suspended: true, reason: 'Earlier@example.com shared a key' });
  const next = { text: 'next@example.com', key: 'next@example.com' };
  assert.ok('token' in Object(await identity.links.replaceOwner(accountId, next, 'left', cli)));
  await operator.closeAccount({ accountId, closed: true, reason: 'unused' });
  assert.equal((await operator.erasePerson(accountId)).kind, 'done');
  assert.deepEqual((await tablesWith(email)).toSorted(), ['account', 'audit_entry']);
  assert.equal((await operator.erasePerson(accountId, [email])).kind, 'done');
  assert.deepEqual(await tablesWith(email), []);
});
