/** Operators, their roles, and the audit log. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import type { Actor } from '../../src/identity/audit.ts';
import { type AuditRow, recordAct } from '../../src/identity/audit-sql.ts';
import { parseEmail } from '../../src/identity/email.ts';
import type { Operator } from '../../src/identity/operators-sql.ts';
import { browser, cli, type IdentityWorld, openWorld, tokenOf } from './world.ts';

let world: IdentityWorld;
before(async () => {
  world = await openWorld();
});

async function add(name: string, role: Operator['role'], node = world.identity): Promise<Operator> {
  const operator = await node.operators.add({ name, role }, cli);
  return typeof operator === 'string' ? assert.fail(operator) : operator;
}

async function consoleOf(operator: Operator): Promise<string> {
  const link = await world.identity.links.openConsole(operator, cli);
  return tokenOf(await world.identity.signIn.withLink('console', link.token, browser()));
}

const acts = (limit = 50): Promise<readonly AuditRow[]> => world.identity.readActs({ limit });

test('without an operator the first link makes an administrator, also for two concurrent requests', async () => {
  const [one, two] = await Promise.all([world.identity.operators.only(cli), world.other.operators.only(cli)]);
  assert.ok(typeof one !== 'string' && typeof two !== 'string');
  assert.equal(one.operatorId, two.operatorId);
  assert.deepEqual([one.name, one.role], ['admin', 'admin']);
  await add('second', 'viewer');
  assert.equal(await world.identity.operators.only(cli), 'several');
});

test('a name is taken in upper and lower case, also for two concurrent requests', async () => {
  const outcomes = await Promise.all([
    world.identity.operators.add({ name: 'Ada', role: 'viewer' }, cli),
    world.other.operators.add({ name: 'ADA', role: 'viewer' }, cli),
  ]);
  assert.equal(outcomes.filter((outcome) => outcome === 'name_taken').length, 1);
});

test('an operator signs in with its link, and the session has its name and its present role', async () => {
  const operator = await add('roles', 'viewer');
  const token = await consoleOf(operator);
  const role = async () => {
    const session = await world.other.findSession(token);
    return session?.kind === 'operator' ? session.role : null;
  };
  assert.equal(await role(), 'viewer');
  await world.identity.operators.setRole('ROLES', 'support', 'more work', cli);
  assert.equal(await role(), 'support');
  await world.identity.operators.remove('roles', 'left', cli);
  assert.equal(await role(), null);
});

test('the links of a removed operator open nothing', async () => {
  const operator = await add('leaving', 'admin');
  const link = await world.identity.links.openConsole(operator, cli);
  await world.identity.operators.remove('leaving', null, cli);
  assert.equal((await world.identity.signIn.withLink('console', link.token, browser())).kind, 'failed');
});

test('the last administrator can be neither removed nor demoted, also when two are removed at once', async () => {
  const others = (await world.identity.operators.list()).filter(({ role }) => role === 'admin');
  for (const { name } of others.slice(1)) await world.identity.operators.remove(name, null, cli);
  await add('spare', 'admin');
  const [first] = others;
  const outcomes = await Promise.all([
    world.identity.operators.remove(first?.name ?? '', null, cli),
    world.other.operators.remove('spare', null, cli),
  ]);
  assert.equal(outcomes.filter((outcome) => outcome === 'last_admin').length, 1);
  const [last] = (await world.identity.operators.list()).filter(({ role }) => role === 'admin');
  assert.equal(await world.identity.operators.setRole(last?.name ?? '', 'viewer', null, cli), 'last_admin');
  assert.equal(await world.identity.operators.remove('nobody', null, cli), 'no_such_operator');
});

test('every change of an operator is an act with who, why, before and after', async () => {
  await add('traced', 'viewer');
  const actor: Actor = { kind: 'operator', operatorId: 77, name: 'boss', role: 'admin' };
  await world.identity.operators.setRole('traced', 'support', 'promotion', actor);
  const [act] = await acts(1);
  assert.deepEqual(
    { ...act, id: 0, atMs: 0 },
    {
      id: 0,
      atMs: 0,
      operatorId: 77,
      who: 'boss',
      role: 'admin',
      act: 'operator.role',
      accountId: null,
      subject: 'traced',
      reason: 'promotion',
      before: { role: 'viewer' },
      after: { role: 'support' },
    },
  );
});

// security:54
test('an act that is rolled back is not in the log', async () => {
  const before = (await acts()).length;
  await assert.rejects(
    world.database.transaction(async (sql) => {
      await recordAct(sql, cli, { act: 'test.rolled_back' }, world.clock.now());
      throw new Error('the act failed');
    }),
    /the act failed/,
  );
  assert.equal((await acts()).length, before);
});

// security:54
test('the database refuses to change or remove an act, also for its owner', async () => {
  await world.identity.recordAct(cli, { act: 'test.kept', reason: 'because' });
  for (const statement of [
    "UPDATE audit_entry SET reason = 'other'",
    'DELETE FROM audit_entry',
    'TRUNCATE audit_entry',
    'SET LOCAL session_replication_role = replica; DELETE FROM audit_entry',
  ])
    await assert.rejects(
      world.database.transaction((sql) => sql.query(statement)),
      /is refused/,
      statement,
    );
  assert.equal((await acts(1))[0]?.reason, 'because');
});

test('acts are read by page and by every filter', async () => {
  const actor: Actor = { kind: 'operator', operatorId: 500, name: 'pager', role: 'support' };
  world.clock.freeze('2027-01-01T00:00:00.000Z');
  for (let n = 0; n < 5; n += 1)
    await world.identity.recordAct(actor, {
      act: 'test.page',
      accountId: 4_000 + n,
      after: { micro: 10n ** 18n },
    });
  world.clock.thaw();
  const mine = { operatorId: 500, limit: 2 };
  const first = await world.identity.readActs(mine);
  const second = await world.identity.readActs({ ...mine, beforeId: first.at(-1)?.id ?? 0 });
  assert.deepEqual(
    [...first, ...second].map(({ accountId }) => accountId),
    [4_004, 4_003, 4_002, 4_001],
  );
  assert.deepEqual(first[0]?.after, { micro: '1000000000000000000' });
  const atMs = Date.parse('2027-01-01T00:00:00.000Z');
  const count = async (query: object) => (await world.identity.readActs({ limit: 100, ...query })).length;
  assert.equal(await count({ act: 'test.page' }), 5);
  assert.equal(await count({ accountId: 4_002 }), 1);
  assert.equal(await count({ role: 'support' }), 5);
  assert.equal(await count({ fromMs: atMs, toMs: atMs + 1 }), 5);
  assert.equal(await count({ fromMs: atMs + 1, act: 'test.page' }), 0);
  assert.equal(await count({ toMs: atMs, act: 'test.page' }), 0);
});

test('the log names owners by their ids, never by their addresses', async () => {
  const accountId = await world.account();
  await world.identity.links.invite(accountId, parseEmail('secret-address@example.com'), cli);
  const rows = await world.database.query<{ row: string }>('SELECT a::text AS row FROM audit_entry a');
  assert.ok(rows.every(({ row }) => !row.includes('secret-address')));
  assert.ok((await acts()).some((act) => act.act === 'account.invitation' && act.accountId === accountId));
});
