import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { QueuedReservation, SpendSubject } from '../../src/nodes/reservation-request.ts';
import { Tickets } from '../../src/nodes/tickets.ts';

const subject: SpendSubject = {
  ...{ kind: 'account', id: 1, accountId: 1, outstanding: 0n, reserved: 0n, left: 0n },
  readRemaining: async () => 0n,
};

function waiting(arrivedMs: number): QueuedReservation {
  return {
    ...{ arrivedMs, subjects: [subject], amount: 1n, isKnown: true, hasLeft: false, waitsFor: null },
    ...{ refusal: () => null, count: () => {}, uncount: () => {}, next: () => null },
  };
}

test('a ticket whose COMMIT was lost is written again at the next check of its request', () => {
  const tickets = new Tickets();
  const request = waiting(5);
  const change = { subject, holder: request };
  assert.deepEqual(tickets.changesAfter(request, subject), [change], 'it has no ticket');
  tickets.apply(change, false);
  assert.deepEqual(tickets.changesAfter(request, subject), [change], 'the database may have an older one');
  tickets.apply(change, true);
  assert.deepEqual(tickets.changesAfter(request, subject), [], 'the database has it');
});
