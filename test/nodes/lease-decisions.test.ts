import assert from 'node:assert/strict';
import { test } from 'node:test';
import { leaseOf, type Remaining } from '../../src/nodes/lease-decisions.ts';

function remaining(left: bigint): Remaining {
  const subject = {
    ...({ kind: 'account', id: 1, accountId: 1, outstanding: 40n, reserved: 40n, left } as const),
    readRemaining: async () => left,
  };
  return { subject, left, others: 0n };
}

test('a node leases its outstanding credit, and a part of the free credit unless another node waits', () => {
  assert.equal(leaseOf(remaining(1_000n), 3, false), 40n + 960n / 6n);
  assert.equal(leaseOf(remaining(1_000n), 3, true), 40n, 'another node waits');
  assert.equal(leaseOf(remaining(30n), 3, false), 40n, 'no credit is free');
  assert.equal(leaseOf(remaining(10n ** 18n), 1, false), 40n + 10n ** 15n, 'the largest lease');
});
