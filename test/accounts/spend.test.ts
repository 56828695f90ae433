import assert from 'node:assert/strict';
import { test } from 'node:test';
import { array, bigInt, integer, property, tuple } from 'fast-check';
import { addDebit, noSpend, rollTo, spendOf } from '../../src/accounts/spend.ts';
import { limitResets, periodStartDay } from '../../src/time/period.ts';
import { check } from '../harness/property.ts';

const firstDay = 20_000;
const debits = array(tuple(integer({ min: 0, max: 70 }), bigInt({ min: 0n, max: 10n ** 12n })), {
  maxLength: 40,
}).map((each) => each.map(([after, amount]) => ({ day: firstDay + after, amount })));

// spec:conformance/68,71 spec:money/7.1,7.2
test('the spend of a period is the sum of the debits on its days', () => {
  check(
    property(debits, integer({ min: 0, max: 90 }), (made, after) => {
      const inOrder = [...made].sort((a, b) => a.day - b.day);
      const today = Math.max(firstDay + after, ...inOrder.map(({ day }) => day));
      const spend = rollTo(
        inOrder.reduce((sum, { day, amount }) => addDebit(sum, day, amount), noSpend(firstDay)),
        today,
      );
      for (const reset of limitResets) {
        const expected = inOrder
          .filter(({ day }) => day >= periodStartDay(reset, today))
          .reduce((sum, { amount }) => sum + amount, 0n);
        assert.equal(spendOf(spend, reset), expected, reset);
      }
      assert.ok(spend.daily <= spend.weekly && spend.daily <= spend.monthly && spend.weekly <= spend.total);
    }),
    { numRuns: 300 },
  );
});

test('a debit of an earlier day counts in the periods that contain both days', () => {
  // 2026-11-18 is a Wednesday, 2026-11-16 its Monday, 2026-11-15 the Sunday before.
  const day = Date.UTC(2026, 10, 18) / 86_400_000;
  const spend = addDebit(addDebit(addDebit(noSpend(day), day - 2, 1n), day - 3, 10n), day - 18, 100n);
  assert.deepEqual(spend, { day, daily: 0n, weekly: 1n, monthly: 11n, total: 111n });
});

test('a value is immutable; changes return a new one', () => {
  const spend = Object.freeze(noSpend(firstDay));
  addDebit(spend, firstDay + 1, 5n);
  assert.deepEqual(spend, noSpend(firstDay));
});
