/** The operations of the command line and the console: each change is in the audit log exactly when it happened. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type KeyHash, parseKeyHash } from '../../src/accounts/api-key.ts';
import type { Actor } from '../../src/identity/audit.ts';
import { requestTopup } from '../../src/ledger/topup-requests.ts';
import { krwOfMicro } from '../../src/money/krw.ts';
import { createOperatorService, type OperatorService } from '../../src/operations/operator-service.ts';
import { Database } from '../../src/store/database.ts';
import { createTestDatabase, type TestDatabase } from '../harness/database.ts';
import { TestClock } from '../harness/test-clock.ts';

let testDatabase: TestDatabase;
let database: Database;
let service: OperatorService;
const clock = new TestClock();
const won = (amount: bigint) => krwOfMicro(amount * 1_000_000n);

before(async () => {
  testDatabase = await createTestDatabase();
  database = new Database(testDatabase.address);
  service = createOperatorService(database, {
    clock,
    keyPrefix: 'sk-naru-',
    supportCreditLimit: won(1_000n),
    close: async () => {},
  });
});
after(async () => {
  await database?.close();
  await testDatabase?.drop();
});

const acts = (act: string) => service.identity.readActs({ act, limit: 100 });

function grantOf(accountId: number, amount: bigint, idempotencyKey: string | null = null) {
  return {
    accountId,
    kind: 'bonus',
    amount: won(amount),
    expiresAtMs: null,
    idempotencyKey,
    memo: 'm',
  } as const;
}

async function supporter(name: string): Promise<Actor> {
  const added = await service.identity.operators.add({ name, role: 'support' }, service.actor);
  if (typeof added === 'string') assert.fail(added);
  return { kind: 'operator', operatorId: added.operatorId, name, role: 'support' };
}

test('an act names who did it, and the balance before and after', async () => {
  const accountId = await service.createAccount({ name: 'a', email: null });
  await service.grantCredit(grantOf(accountId, 100n));
  const boss: Actor = { kind: 'operator', operatorId: 9, name: 'boss', role: 'admin' };
  await service
    .as(boss)
    .adjustCredit({ accountId, amount: won(-30n), reason: 'mistake', idempotencyKey: null });
  const [act] = await acts('credit.adjust');
  assert.deepEqual([act?.who, act?.role, act?.operatorId, act?.reason], ['boss', 'admin', 9, 'mistake']);
  assert.deepEqual(act?.before, { balance_micro: '100000000' });
  assert.deepEqual(act?.after, { balance_micro: '70000000', amount_micro: '-30000000', kind: 'done' });
});

test('what changed nothing is no act: a repeated grant, an unknown account, an unknown key', async () => {
  const accountId = await service.createAccount({ name: 'b', email: null });
  const before = (await acts('credit.grant')).length;
  await Promise.all(Array.from({ length: 6 }, () => service.grantCredit(grantOf(accountId, 1n, 'once'))));
  assert.equal((await service.grantCredit(grantOf(999_999, 1n))).kind, 'no_account');
  assert.equal((await acts('credit.grant')).length, before + 1);
  const unknown: KeyHash = parseKeyHash('f'.repeat(64)) ?? assert.fail();
  assert.equal(await service.suspendKey({ hash: unknown, suspended: true, reason: null }), false);
  assert.deepEqual(await acts('key.suspend'), []);
});

// security:52
test('an act whose log cannot be written does not happen', async () => {
  const accountId = await service.createAccount({ name: 'c', email: null });
  const broken: Actor = { kind: 'operator', operatorId: 1, name: 'x', role: 'owner' as 'admin' };
  await assert.rejects(service.as(broken).grantCredit(grantOf(accountId, 5n)), /audit_role_is_known/);
  assert.equal((await service.readAccount(accountId))?.credits, 0n);
});

// security:52
test('support grants up to its limit in a day of Seoul, also by grants at the same time', async () => {
  const accountId = await service.createAccount({ name: 'd', email: null });
  const support = service.as(await supporter('limited'));
  clock.freeze('2026-12-31T14:59:59.000Z');
  const outcomes = await Promise.all(
    Array.from({ length: 8 }, () => support.grantCredit(grantOf(accountId, 300n))),
  );
  assert.equal(outcomes.filter(({ kind }) => kind === 'granted').length, 3);
  assert.deepEqual(await support.grantCredit(grantOf(accountId, 101n)), {
    kind: 'above_limit',
    left: won(100n),
  });
  assert.equal((await support.grantCredit(grantOf(accountId, 100n))).kind, 'granted');
  clock.freeze('2026-12-31T15:00:00.000Z');
  assert.equal((await support.grantCredit(grantOf(accountId, 1_000n))).kind, 'granted');
  clock.thaw();
  assert.equal((await service.readAccount(accountId))?.credits, 2_000_000_000n);
  // Another operator has its own limit, and an administrator and the command line have none.
  const other = service.as(await supporter('other'));
  assert.equal((await other.grantCredit(grantOf(accountId, 1_000n))).kind, 'granted');
  assert.equal((await service.grantCredit(grantOf(accountId, 5_000n))).kind, 'granted');
});

test('a top-up is confirmed once, within the same limit, and is an act with the balance; so is a rejection', async () => {
  const accountId = await service.createAccount({ name: 'f', email: null });
  const order = { accountId, depositor: null, note: null };
  const request = async (amount: bigint) => {
    const outcome = await requestTopup(database, { ...order, amount: won(amount) }, clock.now());
    return outcome.kind === 'done' ? outcome.request.id : assert.fail(outcome.kind);
  };
  const [first, second] = [service.as(await supporter('one')), service.as(await supporter('two'))];
  const id = await request(700n);
  const outcomes = await Promise.all(
    [first, second, first, second].map((by) => by.confirmTopup({ id, bankReference: 'T-7' })),
  );
  assert.deepEqual(outcomes.map(({ kind }) => kind).toSorted(), ['done', 'repeated', 'repeated', 'repeated']);
  const [act, ...more] = await acts('topup.confirm');
  assert.deepEqual(more, []);
  assert.deepEqual([act?.subject, act?.reason], [`top-up ${id}`, 'T-7']);
  assert.deepEqual(act?.before, { balance_micro: '0' });
  assert.deepEqual(act?.after, { balance_micro: '700000000', amount_micro: '700000000', kind: 'topup' });
  const by = act?.who === 'one' ? first : second;
  const above = await request(301n);
  const refused = await by.confirmTopup({ id: above, bankReference: null });
  assert.deepEqual(refused, { kind: 'above_limit', left: won(300n) });
  assert.deepEqual(await by.grantCredit(grantOf(accountId, 301n)), refused);
  assert.equal((await service.readAccount(accountId))?.credits, 700_000_000n);
  assert.equal((await by.rejectTopup({ id: above, reason: 'no transfer' })).kind, 'done');
  const [rejection] = await acts('topup.reject');
  assert.deepEqual([rejection?.reason, rejection?.accountId], ['no transfer', accountId]);
});

test('keys, publications and deletions are acts', async () => {
  const accountId = await service.createAccount({ name: 'e', email: null });
  const { hash } = await service.createKey({
    accountId,
    kind: 'inference',
    name: 'n',
    limit: won(7n),
    limitReset: 'daily',
    expiresAtMs: null,
  });
  await service.suspendKey({ hash, suspended: true, reason: 'abuse' });
  await service.suspendKey({ hash, suspended: false, reason: null });
  await service.revokeKey(hash);
  const seen = (await service.identity.readActs({ accountId, limit: 100 })).map(({ act, before, after }) => [
    act,
    before,
    after,
  ]);
  assert.deepEqual(seen, [
    ['key.revoke', { revoked: false }, { revoked: true }],
    ['key.unsuspend', { suspended: true }, { suspended: false }],
    ['key.suspend', { suspended: false }, { suspended: true }],
    [
      'key.create',
      null,
      { kind: 'inference', limit_micro: '7000000', limit_reset: 'daily', expires_at: null },
    ],
    ['account.create', null, null],
  ]);
});

test('a verification of the ledger is in the audit log with the number of its differences', async () => {
  const { differences, checks } = await service.verifyLedger();
  const [act] = await acts('ledger.verify');
  const after = act?.after as Record<string, unknown>;
  assert.deepEqual([act?.role, after['differences'], after['checks']], ['cli', 0, checks.length]);
  assert.deepEqual(differences, []);
});
