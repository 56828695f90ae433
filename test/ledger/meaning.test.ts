import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readKeySpend } from '../../src/accounts/keys-sql.ts';
import { ensurePartitions } from '../../src/generations/partitions.ts';
import { expireCredit } from '../../src/ledger/credit.ts';
import { readUsageParts } from '../../src/ledger/lines-sql.ts';
import { krwOfMicro } from '../../src/money/krw.ts';
import { seoulDayAt } from '../../src/time/period.ts';
import { unlessDistributed } from '../harness/citus.ts';
import { openLedger } from './world.ts';

// src/ledger/README.md

// spec:money/3.2
test('M1: The balance of an account is its total credits less its total usage, and both only grow.', async (t) => {
  const ledger = await openLedger(t);
  const row = ledger.generation(40n);
  const steps: readonly (() => Promise<unknown>)[] = [
    () => ledger.grant(100n),
    () => ledger.settle(row),
    () =>
      ledger.operator.refundGeneration({
        generation: row.uuid as never,
        amount: null,
        reason: 'r',
        idempotencyKey: null,
      }),
    () =>
      ledger.operator.adjustCredit({
        accountId: ledger.accountId,
        amount: krwOfMicro(-30n),
        reason: 'r',
        idempotencyKey: null,
      }),
    () =>
      ledger.operator.adjustCredit({
        accountId: ledger.accountId,
        amount: krwOfMicro(5n),
        reason: 'r',
        idempotencyKey: null,
      }),
    () => ledger.settle(ledger.generation(500n)),
  ];
  let before = await ledger.money();
  for (const step of steps) {
    await step();
    const after = await ledger.money();
    assert.ok(after.credits >= before.credits && after.usage >= before.usage, 'a total shrank');
    const [row] = await ledger.database.query<{ balance: bigint }>(
      'SELECT balance FROM account_balance WHERE account_id = $1',
      [ledger.accountId],
    );
    assert.equal(row?.balance, after.credits - after.usage);
    before = after;
  }
  assert.deepEqual(before, { credits: 145n, usage: 570n, balance: -425n });
});

test('M2: Every change of a balance is one ledger entry, and the entries add up to the balance.', async (t) => {
  const ledger = await openLedger(t);
  await ledger.grant(100n);
  await ledger.grant(50n, { expiresAtMs: ledger.clock.now() - 1 });
  await ledger.settle(ledger.generation(30n), ledger.generation(20n));
  await expireCredit(ledger.database, ledger.clock.now());
  const entries = await ledger.entries();
  assert.deepEqual(
    entries.map(({ kind, amount }) => [kind, amount]).toSorted((a, b) => String(a).localeCompare(String(b))),
    [
      ['topup', 100n],
      ['topup', 50n],
      ['usage', -20n],
      ['usage', -30n],
    ],
    'what was spent was spent of the credit that expires: nothing of it is left to lose',
  );
  assert.equal(
    (await ledger.money()).balance,
    entries.reduce((sum, { amount }) => sum + amount, 0n),
  );
});

// spec:money/3.1
test('M3: Entries are added, never changed and never removed.', () => {
  const folder = join(import.meta.dirname, '../../src');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /(?<!0014-ledger-chain)\.(ts|sql)$/.test(file),
  );
  const statements = files.flatMap((file) =>
    [
      ...readFileSync(join(folder, file), 'utf8').matchAll(
        /\b(INSERT INTO|UPDATE|DELETE FROM|TRUNCATE|MERGE INTO)\s+ledger\b/g,
      ),
    ].map(([, verb]) => verb),
  );
  assert.deepEqual(new Set(statements), new Set(['INSERT INTO']));
});

// security:42
test(
  'M11: The database refuses to change or remove an entry, a record, a price or a lot, also for a superuser.',
  unlessDistributed('the names of partitions are those of shards'),
  async (t) => {
    const ledger = await openLedger(t);
    await ensurePartitions(ledger.database, ledger.clock.now());
    await ledger.grant(100n);
    await ledger.settle(ledger.generation(10n));
    const [{ partition } = { partition: '' }] = await ledger.database.query<{ partition: string }>(
      'SELECT tableoid::regclass::text AS partition FROM generation',
    );
    const statements = [
      ...[
        'ledger',
        'generation',
        partition,
        'price_version',
        'catalogue_edition',
        'credit_lot',
        'pruned_month',
      ].flatMap((table) => [`DELETE FROM ${table}`, ...(table === partition ? [] : [`TRUNCATE ${table}`])]),
      ...['account_balance', 'key_usage_day'].map((table) => `DELETE FROM ${table}`),
      'UPDATE ledger SET memo = memo',
      'UPDATE ledger SET amount = 1 WHERE false',
      'UPDATE generation SET status = 500',
      `UPDATE ${partition} SET status = 500`,
      'UPDATE price_version SET prompt = 0',
      'UPDATE credit_lot SET expires_at = NULL',
      'UPDATE credit_lot SET amount = amount + 1',
    ];
    for (const role of ['origin', 'replica'])
      for (const statement of statements)
        await assert.rejects(
          ledger.database.transaction(async (sql) => {
            await sql.query(`SET LOCAL session_replication_role = ${role}`);
            await sql.query(statement);
          }),
          /is refused: rows .* are added, never changed/,
          `${role}: ${statement}`,
        );
    assert.deepEqual(await ledger.differences(), []);
  },
);

// spec:money/3.3
test('M4: A generation has one entry of exactly what it cost, however often it is settled.', async (t) => {
  const ledger = await openLedger(t);
  await ledger.grant(1_000n);
  const row = ledger.generation(123n);
  await ledger.settle(row, row, ledger.generation(7n));
  await ledger.settle(row);
  await Promise.all([ledger.settle(row), ledger.settle(row, ledger.generation(11n))]);
  const own = (await ledger.entries()).filter(({ generation }) => generation === row.uuid);
  assert.deepEqual(own, [{ kind: 'usage', amount: -123n, generation: row.uuid }]);
  assert.equal((await ledger.money()).usage, 141n);
  assert.deepEqual(await ledger.differences(), []);
});

// spec:money/4.2
test('M5: A generation that costs nothing has a record and no entry.', async (t) => {
  const ledger = await openLedger(t);
  const row = ledger.generation(0n, { status: 502, errorType: 'provider_error' });
  await ledger.settle(row);
  assert.deepEqual(await ledger.entries(), []);
  assert.equal((await Array.fromAsync(ledger.operator.exportGenerations(ledger.accountId))).length, 1);
});

// spec:operator/1.12
test('M6: Credit granted twice with one idempotency key is granted once, also when both happen at the same time.', async (t) => {
  const ledger = await openLedger(t);
  const outcomes = await Promise.all(
    Array.from({ length: 12 }, () => ledger.grant(100n, { idempotencyKey: 'k' })),
  );
  assert.equal(outcomes.filter(({ kind }) => kind === 'granted').length, 1);
  assert.equal(outcomes.filter(({ kind }) => kind === 'repeated').length, 11);
  assert.equal((await ledger.money()).credits, 100n);
});

test('M7: An idempotency key that was used for another amount, kind, expiry, memo or generation is refused, and nothing moves.', async (t) => {
  const ledger = await openLedger(t);
  await ledger.grant(100n, { idempotencyKey: 'k' });
  assert.equal((await ledger.grant(101n, { idempotencyKey: 'k' })).kind, 'conflict');
  const { accountId } = ledger;
  const adjustment = { accountId, amount: krwOfMicro(100n), reason: 'r', idempotencyKey: 'k' };
  assert.equal((await ledger.operator.adjustCredit(adjustment)).kind, 'conflict');
  const grant = {
    accountId,
    kind: 'bonus',
    amount: krwOfMicro(10n),
    expiresAtMs: 4_000_000_000_123,
    memo: 'for\ud800',
    idempotencyKey: 'g',
  } as const;
  const { operator } = ledger;
  assert.equal((await operator.grantCredit(grant)).kind, 'granted');
  assert.equal((await operator.grantCredit(grant)).kind, 'repeated');
  for (const other of [
    { expiresAtMs: null },
    { expiresAtMs: 4_000_000_000_124 },
    { memo: null },
    { memo: 'For' },
    { kind: 'topup' },
  ] as const)
    assert.equal(
      (await operator.grantCredit({ ...grant, ...other })).kind,
      'conflict',
      JSON.stringify(other),
    );
  for (const amount of [5n, -5n]) {
    const key = { accountId, amount: krwOfMicro(amount), idempotencyKey: `a${amount}` };
    assert.equal((await operator.adjustCredit({ ...key, reason: 'r' })).kind, 'done');
    assert.equal((await operator.adjustCredit({ ...key, reason: 'r' })).kind, 'repeated');
    assert.equal((await operator.adjustCredit({ ...key, reason: 'another' })).kind, 'conflict');
  }
  assert.deepEqual(await ledger.money(), { credits: 115n, usage: 5n, balance: 110n });

  const [one, other] = [ledger.generation(30n), ledger.generation(30n)];
  await ledger.settle(one, other);
  const refund = (uuid: string, amount: bigint | null, reason = 'r') =>
    ledger.operator.refundGeneration({
      generation: uuid as never,
      amount: amount === null ? null : krwOfMicro(amount),
      reason,
      idempotencyKey: 'of-one',
    });
  assert.equal((await refund(one.uuid, null)).kind, 'done');
  assert.equal((await refund(one.uuid, null)).kind, 'repeated');
  assert.equal((await refund(one.uuid, null, 'another')).kind, 'conflict');
  assert.equal((await refund(other.uuid, null)).kind, 'conflict');
  assert.equal((await refund(other.uuid, 30n)).kind, 'conflict');
  assert.deepEqual(await ledger.money(), { credits: 145n, usage: 65n, balance: 80n });
});

test('M8: A refund returns what a generation cost, once and no more, also in parts and at the same time; the entry of the generation stays.', async (t) => {
  const ledger = await openLedger(t);
  await ledger.grant(1_000n);
  const row = ledger.generation(100n);
  const refund = (amount: bigint | null, idempotencyKey: string | null = null) =>
    ledger.operator.refundGeneration({
      generation: row.uuid as never,
      amount: amount === null ? null : krwOfMicro(amount),
      reason: 'the response was wrong',
      idempotencyKey,
    });
  assert.equal((await refund(null)).kind, 'not_found', 'what was never settled cannot be refunded');
  await ledger.settle(row);
  assert.equal((await refund(40n, 'a')).kind, 'done');
  assert.equal((await refund(40n, 'a')).kind, 'repeated');
  assert.deepEqual(await refund(61n), { kind: 'too_much', left: 60n });
  const atOnce = await Promise.all([refund(null), refund(null), refund(null)]);
  assert.deepEqual(atOnce.map(({ kind }) => kind).toSorted(), ['done', 'too_much', 'too_much']);
  assert.deepEqual(await ledger.money(), { credits: 1_100n, usage: 100n, balance: 1_000n });
  assert.equal((await ledger.entries()).filter(({ generation }) => generation === row.uuid).length, 1);
  assert.deepEqual(await ledger.differences(), []);
});

// spec:money/7.10
test('M12: A refund that is given back to the limit of the key lowers its spend in the periods of the generation, once and never by more than the cost, and is verified.', async (t) => {
  const ledger = await openLedger(t);
  const { accountId, clock, database, keyId, operator } = ledger;
  await ledger.grant(1_000n);
  // A Tuesday, and a Wednesday of the next month: one week.
  clock.freeze('2026-06-30T23:59:59.999+09:00');
  const old = ledger.generation(100n);
  await ledger.settle(old);
  clock.freeze('2026-07-01T00:00:00+09:00');
  const recent = ledger.generation(50n);
  await ledger.settle(recent);
  const spend = async () => {
    const row = await readKeySpend(database, { accountId, id: keyId }, seoulDayAt(clock.now()));
    return [row.daily, row.weekly, row.monthly, row.total];
  };
  const refund = (
    uuid: string,
    amount: bigint | null,
    toKeyLimit: boolean,
    idempotencyKey: string | null = null,
  ) =>
    operator.refundGeneration({
      generation: uuid as never,
      amount: amount === null ? null : krwOfMicro(amount),
      reason: 'the response was wrong',
      toKeyLimit,
      idempotencyKey,
    });
  assert.deepEqual(await spend(), [50n, 150n, 50n, 150n]);
  await refund(recent.uuid, 7n, false);
  assert.deepEqual(await spend(), [50n, 150n, 50n, 150n], 'the operator did not say so');
  assert.equal((await refund(old.uuid, 40n, true, 'a')).kind, 'done');
  assert.deepEqual(
    await spend(),
    [50n, 110n, 50n, 110n],
    'neither the day nor the month is that of the generation',
  );
  assert.equal((await refund(old.uuid, 40n, true, 'a')).kind, 'repeated');
  assert.equal((await refund(old.uuid, 40n, false, 'a')).kind, 'conflict');
  assert.deepEqual(await refund(old.uuid, 61n, true), { kind: 'too_much', left: 60n });
  const atOnce = await Promise.all([1, 2, 3].map(() => refund(old.uuid, null, true)));
  assert.deepEqual(atOnce.map(({ kind }) => kind).toSorted(), ['done', 'too_much', 'too_much']);
  await refund(recent.uuid, null, true);
  assert.deepEqual(await spend(), [7n, 7n, 7n, 7n]);
  await ledger.settle(ledger.generation(5n));
  assert.deepEqual(await spend(), [12n, 12n, 12n, 12n], 'later usage counts');
  assert.deepEqual(await ledger.money(), { credits: 1_150n, usage: 155n, balance: 995n });
  const named = await database.query<{ key_id: bigint; amount: bigint }>(
    'SELECT key_id, amount FROM ledger WHERE kind = 5 AND key_id IS NOT NULL ORDER BY id',
  );
  assert.deepEqual(
    named,
    [40n, 60n, 43n].map((amount) => ({ key_id: BigInt(keyId), amount })),
  );
  assert.deepEqual(await ledger.differences(), []);
  for (const fault of [
    'UPDATE key_usage_day SET returned = returned - 1',
    "UPDATE key_usage_day SET returned = returned - 1 WHERE day = '2026-06-30'; UPDATE key_usage_day SET returned = returned + 1 WHERE day = '2026-07-01'",
    'UPDATE ledger SET key_id = NULL WHERE kind = 5',
  ])
    assert.ok((await ledger.differencesAfter(fault)) > 0, `not found: ${fault}`);
});

// spec:money/3.11
test('M13: Total usage is what requests cost, what expired and what adjustments deducted, each as its entries add up.', async (t) => {
  const ledger = await openLedger(t);
  const { accountId, clock, database, operator } = ledger;
  const parts = async () => readUsageParts(database, accountId, (await ledger.money()).usage);
  assert.deepEqual(await parts(), { used: 0n, expired: 0n, deducted: 0n });
  clock.freeze('2026-06-10T12:00:00+09:00');
  const atMs = clock.now();
  await ledger.grant(1_000n);
  await ledger.grant(100n, { expiresAtMs: atMs + 1_000 });
  const row = ledger.generation(60n);
  await ledger.settle(row);
  await expireCredit(database, atMs + 2_000);
  // Late usage takes a part of the expiry back.
  await ledger.settle(ledger.generation(10n, { settledAtMs: atMs + 500 }));
  for (const amount of [5n, -6n])
    await operator.adjustCredit({ accountId, amount: krwOfMicro(amount), reason: 'j', idempotencyKey: null });
  const refund = { generation: row.uuid as never, amount: null, reason: 'r', idempotencyKey: null };
  assert.equal((await operator.refundGeneration(refund)).kind, 'done');
  assert.deepEqual(await parts(), { used: 70n, expired: 30n, deducted: 6n });
  const entries = await ledger.entries();
  const sum = (...kinds: readonly string[]) =>
    entries.reduce((all, { kind, amount }) => (kinds.includes(kind) ? all - amount : all), 0n);
  assert.deepEqual([sum('usage'), sum('expiry'), sum('adjustment')], [70n, 30n, 6n - 5n]);
});

test('M9: An adjustment adds or deducts, and states a reason.', async (t) => {
  const ledger = await openLedger(t);
  const adjust = (amount: bigint, idempotencyKey: string | null) =>
    ledger.operator.adjustCredit({
      accountId: ledger.accountId,
      amount: krwOfMicro(amount),
      reason: 'goodwill',
      idempotencyKey,
    });
  assert.equal((await adjust(70n, 'a')).kind, 'done');
  assert.equal((await adjust(70n, 'a')).kind, 'repeated');
  assert.equal((await adjust(-20n, null)).kind, 'done');
  assert.deepEqual(await ledger.money(), { credits: 70n, usage: 20n, balance: 50n });
  const rows = await ledger.database.query<{ memo: string }>(
    'SELECT memo FROM ledger WHERE account_id = $1',
    [ledger.accountId],
  );
  assert.deepEqual(
    rows.map(({ memo }) => memo),
    ['goodwill', 'goodwill'],
  );
  assert.deepEqual(await ledger.differences(), []);
});

test('M10: A refund or an adjustment without a reason is refused by the database itself.', async (t) => {
  const ledger = await openLedger(t);
  const adjust = ledger.operator.adjustCredit({
    accountId: ledger.accountId,
    amount: krwOfMicro(1n),
    reason: '',
    idempotencyKey: null,
  });
  await assert.rejects(adjust, /correction_has_a_reason/);
  assert.deepEqual(await ledger.entries(), []);
});
