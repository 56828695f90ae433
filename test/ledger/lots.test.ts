import assert from 'node:assert/strict';
import { test } from 'node:test';
import { array, bigInt, constant, integer, oneof, property, record } from 'fast-check';
import { dueAt, type Lot, spend } from '../../src/ledger/lots.ts';
import { check } from '../harness/property.ts';

const someLots = array(
  record({
    remaining: bigInt({ min: 1n, max: 1000n }),
    expiresAtMs: oneof(constant(null), integer({ min: 0, max: 50 })),
  }),
  { maxLength: 8 },
).map((lots) => inOrder(lots.map((lot, at) => ({ ...lot, id: at + 1 }))));

/** First to expire first, then the oldest. */
function inOrder(lots: readonly Lot[]): readonly Lot[] {
  const never = Number.POSITIVE_INFINITY;
  return lots.toSorted((a, b) => (a.expiresAtMs ?? never) - (b.expiresAtMs ?? never) || a.id - b.id);
}

function apply(lots: readonly Lot[], changed: readonly Lot[]): readonly Lot[] {
  return lots.map((lot) => changed.find(({ id }) => id === lot.id) ?? lot);
}

const sum = (lots: readonly Lot[]): bigint => lots.reduce((total, lot) => total + lot.remaining, 0n);

// spec:money/3.5,3.7
test('a charge empties lots in their order and takes no more than they hold', () => {
  check(
    property(someLots, bigInt({ min: 0n, max: 5000n }), (lots, amount) => {
      const { lots: changed, taken } = spend(lots, amount);
      const left = apply(lots, changed);
      assert.equal(taken, amount < sum(lots) ? amount : sum(lots));
      assert.equal(sum(lots) - sum(left), taken);
      assert.ok(left.every((lot) => lot.remaining >= 0n));
      const firstOpen = left.findIndex((lot) => lot.remaining > 0n);
      if (firstOpen !== -1)
        assert.deepEqual(
          left.slice(firstOpen + 1),
          lots.slice(firstOpen + 1),
          'lots behind the first open one are untouched',
        );
    }),
  );
});

// spec:money/3.5,3.7
test('charging lots late, all at once, leaves what charging them at every debit would have left', () => {
  const steps = array(
    oneof(
      record({ spend: bigInt({ min: 1n, max: 300n }) }),
      record({ expireAt: integer({ min: 0, max: 50 }) }),
    ),
    { maxLength: 20 },
  );
  check(
    property(someLots, steps, (lots, todo) => {
      let eager = lots;
      let debt = 0n;
      let lazy = lots;
      let uncharged = 0n;
      for (const step of todo) {
        if ('spend' in step) {
          const { lots: changed, taken } = spend(eager, step.spend);
          eager = apply(eager, changed);
          debt += step.spend - taken;
          uncharged += step.spend;
        } else {
          const { lots: changed, taken } = spend(lazy, uncharged);
          lazy = apply(lazy, changed);
          uncharged -= taken;
          for (const accounting of [eager, lazy])
            for (const lot of dueAt(accounting, step.expireAt))
              assert.ok(lot.expiresAtMs !== null && lot.expiresAtMs <= step.expireAt);
          const expire = (accounting: readonly Lot[]) =>
            apply(
              accounting,
              dueAt(accounting, step.expireAt).map((lot) => ({ ...lot, remaining: 0n })),
            );
          eager = expire(eager);
          lazy = expire(lazy);
        }
      }
      const { lots: changed, taken } = spend(lazy, uncharged);
      assert.deepEqual(apply(lazy, changed), eager);
      assert.equal(uncharged - taken, debt);
    }),
  );
});

test('a lot is lost from the instant of its expiry on', () => {
  const lot = { id: 1, remaining: 5n, expiresAtMs: 100 };
  assert.deepEqual(dueAt([lot], 99), []);
  assert.deepEqual(dueAt([lot], 100), [lot]);
  assert.deepEqual(dueAt([{ ...lot, expiresAtMs: null }], Number.MAX_SAFE_INTEGER), []);
});
