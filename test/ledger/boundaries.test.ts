import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expireCredit } from '../../src/ledger/credit.ts';
import { krwOfMicro } from '../../src/money/krw.ts';
import { openLedger } from './world.ts';

// src/ledger/README.md

test('B1: The database refuses a balance that is not its credits less its usage, totals below zero, and an entry of no money or of the wrong sign.', async (t) => {
  const { database, accountId } = await openLedger(t);
  const refused: readonly [string, RegExp][] = [
    [
      'UPDATE account_balance SET balance = balance + 1 WHERE account_id = $1',
      /balance_is_credits_minus_usage/,
    ],
    ['UPDATE account_balance SET usage = usage + 1 WHERE account_id = $1', /balance_is_credits_minus_usage/],
    [
      'UPDATE account_balance SET credits = -1, balance = -1 WHERE account_id = $1',
      /totals_only_grow_from_zero/,
    ],
    [
      'INSERT INTO ledger (account_id, id, kind, amount, created_at, link_rest) VALUES ($1, 1, 1, 0, now(), 0)',
      /entry_moves_money/,
    ],
    [
      'INSERT INTO ledger (account_id, id, kind, amount, created_at, link_rest) VALUES ($1, 1, 1, -5, now(), 0)',
      /entry_sign_follows_kind/,
    ],
    [
      'INSERT INTO ledger (account_id, id, kind, amount, created_at, link_rest) VALUES ($1, 1, 3, 5, now(), 0)',
      /entry_sign_follows_kind/,
    ],
  ];
  for (const [sql, why] of refused) await assert.rejects(database.query(sql, [accountId]), why, sql);
});

test('B2: Grants, expiries, settlements, refunds and adjustments that happen at the same time leave a ledger that agrees.', async (t) => {
  const ledger = await openLedger(t);
  const nowMs = ledger.clock.now();
  const settled = Array.from({ length: 40 }, (_, n) => ledger.generation(BigInt(10 + n)));
  await ledger.settle(...settled.slice(0, 20));
  const kinds: readonly (readonly (() => Promise<unknown>)[])[] = [
    Array.from({ length: 20 }, (_, n) => () => ledger.grant(100n, { expiresAtMs: nowMs + (n % 4) * 10 })),
    settled.slice(20).map((row) => () => ledger.settle(row)),
    settled.slice(0, 10).map(
      (row) => () =>
        ledger.operator.refundGeneration({
          generation: row.uuid as never,
          amount: null,
          reason: 'r',
          idempotencyKey: null,
        }),
    ),
    Array.from({ length: 10 }, (_, n) => () => expireCredit(ledger.database, nowMs + n * 5)),
    Array.from(
      { length: 10 },
      (_, n) => () =>
        ledger.operator.adjustCredit({
          accountId: ledger.accountId,
          amount: krwOfMicro(BigInt(n % 2 === 0 ? 7 : -7)),
          reason: 'r',
          idempotencyKey: null,
        }),
    ),
  ];
  // Two of each kind at once, not all: what waits for one of eight connections gives up after 5 s,
  // which a busy machine may need for the others.
  await Promise.all(
    kinds.map(async (kind) => {
      for (let at = 0; at < kind.length; at += 2)
        await Promise.all(kind.slice(at, at + 2).map((change) => change()));
    }),
  );
  await expireCredit(ledger.database, nowMs + 1_000);
  assert.deepEqual(await ledger.differences(), []);
  const entries = await ledger.entries();
  assert.equal(entries.filter(({ kind }) => kind === 'usage').length, 40);
  assert.equal(entries.filter(({ kind }) => kind === 'refund').length, 10);
  assert.equal(entries.filter(({ kind }) => kind === 'topup').length, 20);
  assert.equal(
    (await ledger.money()).balance,
    entries.reduce((sum, { amount }) => sum + amount, 0n),
  );
});

// spec:money/3.7
test('B3: A debit may take a balance below zero: what no lot covers is debt, and the next credit pays it first.', async (t) => {
  const ledger = await openLedger(t);
  await ledger.settle(ledger.generation(60n));
  assert.equal((await ledger.money()).balance, -60n);
  const expiresAtMs = ledger.clock.now() + 10;
  await ledger.grant(100n, { expiresAtMs });
  await expireCredit(ledger.database, expiresAtMs);
  assert.deepEqual(
    (await ledger.entries()).map(({ kind, amount }) => [kind, amount]),
    [
      ['usage', -60n],
      ['topup', 100n],
      ['expiry', -40n],
    ],
  );
});

test('B4: The verification has its own arithmetic and finds any single number of the ledger that is wrong.', async (t) => {
  const ledger = await openLedger(t);
  await ledger.grant(1_000n);
  await ledger.grant(50n, { expiresAtMs: ledger.clock.now() - 1 });
  const row = ledger.generation(123n);
  await ledger.settle(row, ledger.generation(0n));
  await ledger.operator.refundGeneration({
    generation: row.uuid as never,
    amount: krwOfMicro(20n),
    reason: 'r',
    toKeyLimit: true,
    idempotencyKey: null,
  });
  await expireCredit(ledger.database, ledger.clock.now());
  assert.deepEqual(await ledger.differences(), []);
  /** Each makes one number wrong, bypassing the constraints where there is one. */
  const faults: readonly string[] = [
    'UPDATE account_balance SET credits = credits + 1, balance = balance + 1',
    'UPDATE account_balance SET usage = usage + 1, balance = balance - 1',
    'UPDATE account_balance SET entries = entries + 1',
    'UPDATE account_balance SET lot_applied = lot_applied - 1',
    'UPDATE ledger SET amount = amount - 1 WHERE kind = 3',
    'UPDATE ledger SET amount = amount + 1 WHERE kind = 1',
    'UPDATE ledger SET amount = 200 WHERE kind = 5',
    'DELETE FROM ledger WHERE kind = 3',
    "UPDATE ledger SET generation_id = '00000000-0000-4000-8000-000000000001' WHERE kind = 3",
    'UPDATE generation SET cost = cost + 1 WHERE cost > 0',
    'UPDATE generation SET cost = 1 WHERE cost = 0',
    'UPDATE generation SET prompt_tokens = prompt_tokens + 1 WHERE cost > 0',
    'UPDATE generation SET price_version = NULL WHERE cost > 0',
    'UPDATE generation SET day = day - 1 WHERE cost > 0',
    'DELETE FROM generation WHERE cost = 0',
    'UPDATE key_usage_day SET cost = cost + 1',
    'UPDATE key_usage_day SET returned = returned + 1',
    'UPDATE key_usage_day SET requests = requests - 1',
    'UPDATE key_usage_day SET prompt_tokens = prompt_tokens + 1',
    'UPDATE credit_lot SET remaining = remaining - 1 WHERE remaining > 0',
    'UPDATE credit_lot SET amount = amount + 1',
    'UPDATE credit_lot SET amount = amount + 1 WHERE kind = 5',
    'UPDATE ledger SET lot_id = NULL WHERE kind = 1',
  ];
  for (const fault of faults) assert.ok((await ledger.differencesAfter(fault)) > 0, `not found: ${fault}`);
});
