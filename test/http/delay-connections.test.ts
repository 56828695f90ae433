import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DelayedClients } from '../../src/http/delay-connections.ts';
import { systemClock } from '../../src/time/clock.ts';

test('a delayed client waits 1 s for each connection and 5 s at most, and not at all after 10 s without such a body', () => {
  let nowMs = 1_000;
  const clients = new DelayedClients({ ...systemClock, monotonic: () => nowMs });
  assert.equal(clients.take('a'), 0);
  clients.add('a');
  const waits = Array.from({ length: 7 }, () => clients.take('a'));
  assert.deepEqual(waits, [1_000, 2_000, 3_000, 4_000, 5_000, null, null]);
  assert.equal(clients.take('b'), 0);
  nowMs += 3_000;
  assert.equal(clients.take('a'), 3_000);
  nowMs += 7_001;
  assert.equal(clients.take('a'), 0);
});
