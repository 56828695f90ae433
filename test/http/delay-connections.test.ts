import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DelayedClients } from '../../src/http/delay-connections.ts';
import { systemClock } from '../../src/time/clock.ts';

test('a delayed client waits 250 ms for each connection and 5 s at most, and not at all after 10 s without such a body', () => {
  let nowMs = 1_000;
  const clients = new DelayedClients({ ...systemClock, monotonic: () => nowMs });
  assert.equal(clients.take('a'), 0);
  clients.add('a');
  const waits = Array.from({ length: 22 }, () => clients.take('a'));
  assert.deepEqual(waits.slice(0, 3), [250, 500, 750]);
  assert.deepEqual(waits.slice(18), [4_750, 5_000, null, null]);
  assert.equal(clients.take('b'), 0);
  nowMs += 3_000;
  assert.equal(clients.take('a'), 2_250);
  nowMs += 7_001;
  assert.equal(clients.take('a'), 0);
});
