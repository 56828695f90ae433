import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Account } from '../../src/accounts/account.ts';
import type { KeyHash } from '../../src/accounts/api-key.ts';
import { assertFunded } from '../../src/accounts/funding.ts';
import { Key } from '../../src/accounts/key.ts';
import { Reservation } from '../../src/accounts/reservation.ts';
import { noSpend } from '../../src/accounts/spend.ts';
import type { SpendLimits } from '../../src/accounts/spend-limits.ts';
import { Refusal } from '../../src/errors/catalogue.ts';
import { krwOfMicro } from '../../src/money/krw.ts';
import type { ReservationOrder } from '../../src/nodes/reservation-queue.ts';

const day = 20_000;
const floor = krwOfMicro(5_000_000_000n);

function accountWith(balance: bigint): Account {
  const credits = balance > 0n ? balance : 0n;
  return new Account({ accountId: 1, credits, usage: credits - balance, version: 1n }, 0);
}

function keyWith(limitMicro: bigint | null): Key {
  const row = {
    id: 1,
    hash: '0'.repeat(64) as KeyHash,
    accountId: 1,
    kind: 'inference',
    name: 'k',
    label: 'k',
    userDisabled: false,
    adminSuspended: false,
    suspendReason: null,
    revokedAtMs: null,
    expiresAtMs: null,
    limitMicro,
    limitReset: 'never',
    createdAtMs: 0,
    updatedAtMs: null,
  } as const;
  return new Key(row as never, noSpend(day), 0);
}

function outcome(account: Account, key: Key, debtFloor = floor): string {
  try {
    assertFunded({ account, key, debtFloor, nowMs: day * 86_400_000 });
    return 'admitted';
  } catch (error) {
    assert.ok(error instanceof Refusal);
    return error.failure;
  }
}

// spec:conformance/235 spec:money/6.2
test('a balance at the floor is admitted, one micro-won below it is not', () => {
  assert.equal(outcome(accountWith(-4_999_999_999n), keyWith(null)), 'admitted');
  assert.equal(outcome(accountWith(-5_000_000_000n), keyWith(null)), 'admitted');
  assert.equal(outcome(accountWith(-5_000_000_001n), keyWith(null)), 'insufficient_credits');
});

// spec:conformance/237
test('the floor may be any amount, zero included', () => {
  assert.equal(outcome(accountWith(0n), keyWith(null), krwOfMicro(0n)), 'admitted');
  assert.equal(outcome(accountWith(-1n), keyWith(null), krwOfMicro(0n)), 'insufficient_credits');
});

// spec:conformance/238,239
test('usage one micro-won below the limit is admitted, at the limit it is not', () => {
  const key = keyWith(10n);
  key.charge(day, krwOfMicro(9n));
  assert.equal(outcome(accountWith(1n), key), 'admitted');
  key.charge(day, krwOfMicro(1n));
  assert.equal(outcome(accountWith(1n), key), 'key_limit_exceeded');
  assert.equal(outcome(accountWith(-5_000_000_001n), key), 'insufficient_credits', 'the floor comes first');
});

// spec:money/6.4
test('what the requests in flight may cost rejects no request; it is counted until they end, and never twice', async () => {
  const [account, key] = [accountWith(1n), keyWith(10n)];
  let ends = 0;
  const queues = {
    enter: (order: ReservationOrder) => void order.count(),
    wake: () => {
      ends += 1;
      assert.deepEqual([account.reserved, key.reserved], [0n, 0n]);
    },
  };
  const leases = { isAnyWanted: false, released: async () => {} };
  const reservation = new Reservation(account, key, { spendLimits: {} as SpendLimits, queues, leases });
  await reservation.reserve(krwOfMicro(9_000_000_000n), { signal: AbortSignal.abort(), maxWaitMs: 0 });
  assert.equal(outcome(account, key), 'admitted');
  assert.deepEqual(
    [account.reserved, key.reserved, account.outstanding],
    [9_000_000_000n, 9_000_000_000n, 9_000_000_000n],
  );
  reservation.end();
  reservation.end();
  assert.equal(ends, 1);
});

test('a reverted charge leaves no trace', () => {
  const key = keyWith(null);
  key.charge(day, krwOfMicro(7n));
  assert.equal(key.usageAt(day), 7n);
  key.uncharge(day, krwOfMicro(7n));
  key.charge(day + 1, krwOfMicro(3n));
  key.committed(day + 1, krwOfMicro(3n));
  assert.equal(key.usageAt(day + 1), 3n);
  assert.equal(key.spendAt(day + 1).daily, 3n);
});
