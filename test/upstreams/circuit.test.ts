import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/time/clock.ts';
import { Health } from '../../src/upstreams/health.ts';

const limits = {
  circuitFailures: 3,
  circuitOpenMs: 1_000,
  longestCircuitOpenMs: 5_000,
  coolDownMs: 2_000,
  longestCoolDownMs: 60_000,
};
const whole = { broken: false, tokens: 10, tookMs: 100 };
const label = 'up1/x';

/** Health on a clock that only the test moves; civil time is an hour ahead of the other. */
function createHealth() {
  let nowMs = 1_000_000;
  const health = new Health({ ...systemClock, monotonic: () => nowMs, now: () => nowMs + 3_600_000 }, limits);
  return {
    health,
    now: () => nowMs,
    pass: (ms: number): void => {
      nowMs += ms;
    },
    fail: (times: number, status: number | null = 500): void => {
      for (let n = 0; n < times; n += 1) health.failed(label, status);
    },
    circuit: () => health.statusOf(label).circuit,
  };
}

test('failures in a row open the circuit, and a success in between restarts the count', () => {
  const { health, fail, circuit, now } = createHealth();
  fail(2);
  health.ended(label, whole);
  fail(2);
  assert.equal(circuit(), 'closed');
  fail(1, null);
  const { openedAtMs, failures, probeInMs } = health.statusOf(label);
  assert.equal(circuit(), 'open');
  assert.deepEqual(
    { openedAtMs, failures, probeInMs },
    { openedAtMs: now() + 3_600_000, failures: 3, probeInMs: 1_000 },
  );
});

test('request errors never open it; a rejected credential does', () => {
  const blameless = createHealth();
  for (const status of [400, 413, 422, 429]) blameless.fail(20, status);
  assert.equal(blameless.circuit(), 'closed');
  for (const status of [401, 402, 403, 404, 408, 500, 503, null]) {
    const { fail, circuit } = createHealth();
    fail(3, status);
    assert.equal(circuit(), 'open', String(status));
  }
});

test('one probe at a time is admitted when it is due', () => {
  const { health, fail, pass, circuit } = createHealth();
  fail(3);
  assert.equal(health.takeProbe(label), false);
  pass(1_000);
  assert.equal(circuit(), 'due');
  assert.equal(health.statusOf(label).unsteady, false);
  assert.equal(health.takeProbe(label), true);
  assert.equal(circuit(), 'probing');
  assert.equal(health.takeProbe(label), false);
  health.endProbe(label);
  assert.equal(circuit(), 'due');
  assert.equal(health.takeProbe(label), true);
});

test('a probe that fails opens it for twice as long, up to the limit', () => {
  const { health, fail, pass } = createHealth();
  fail(3);
  const waits: number[] = [];
  for (let n = 0; n < 5; n += 1) {
    waits.push(health.statusOf(label).probeInMs);
    pass(health.statusOf(label).probeInMs);
    assert.ok(health.takeProbe(label));
    health.failed(label, 500, { isProbe: true });
    health.endProbe(label);
  }
  assert.deepEqual(waits, [1_000, 2_000, 4_000, 5_000, 5_000]);
});

test('a successful probe closes it on probation: only a complete response makes it healthy', () => {
  const { health, fail, pass, circuit, now } = createHealth();
  fail(3);
  pass(1_000);
  health.takeProbe(label);
  health.responseStarted(label, now());
  health.endProbe(label);
  assert.equal(circuit(), 'closed');
  assert.equal(health.statusOf(label).unsteady, false);
  health.ended(label, { ...whole, broken: true });
  assert.equal(circuit(), 'open');
  assert.equal(health.statusOf(label).probeInMs, 2_000);
  pass(2_000);
  health.takeProbe(label);
  health.responseStarted(label, now());
  health.endProbe(label);
  health.ended(label, whole);
  fail(2);
  assert.equal(circuit(), 'closed');
  fail(1);
  assert.equal(health.statusOf(label).probeInMs, 1_000);
});

test('responses of earlier requests do not change an open circuit, neither way', () => {
  const { health, fail, pass, circuit, now } = createHealth();
  const sentMs = now() - 500;
  fail(3);
  pass(400);
  fail(50);
  health.responseStarted(label, sentMs);
  assert.equal(circuit(), 'open');
  assert.equal(health.statusOf(label).probeInMs, 600);
  // Tried although it is open, since no other was left: that is new information.
  health.responseStarted(label, now());
  assert.equal(circuit(), 'closed');
});

test('an outage is detected also if a failure is never followed by enough others', () => {
  const { health, fail, pass } = createHealth();
  for (let n = 0; n < 4; n += 1) {
    fail(1);
    health.ended(label, whole);
  }
  assert.equal(health.statusOf(label).circuit, 'closed');
  assert.equal(health.statusOf(label).unsteady, true);
  for (let n = 0; n < 3; n += 1) health.ended(label, whole);
  assert.equal(health.statusOf(label).unsteady, false);
  fail(2);
  health.ended(label, whole);
  pass(35_000);
  assert.equal(health.statusOf(label).unsteady, false);
});

test('a sane `Retry-After` is respected to the second, an absurd one is ignored', () => {
  const cases: readonly (readonly [number | null, number])[] = [
    [30_000, 30_000],
    [1_000, 1_000],
    [60_000, 60_000],
    [60_001, 2_000],
    [0, 2_000],
    [-5_000, 2_000],
    [1e15, 2_000],
    [null, 2_000],
  ];
  for (const [retryAfterMs, expected] of cases) {
    const { health } = createHealth();
    health.failed(label, 429, { retryAfterMs });
    assert.equal(health.statusOf(label).coolingMs, expected, String(retryAfterMs));
    assert.equal(health.statusOf(label).circuit, 'closed');
  }
});

test('consecutive cool-downs grow, and a burst of rejections is one', () => {
  const { health, fail, pass, now } = createHealth();
  const waits: number[] = [];
  for (let n = 0; n < 7; n += 1) {
    fail(100, 429);
    waits.push(health.statusOf(label).coolingMs);
    pass(health.statusOf(label).coolingMs);
    assert.equal(health.statusOf(label).coolingMs, 0);
  }
  assert.deepEqual(waits, [2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  health.responseStarted(label, now());
  fail(1, 429);
  assert.equal(health.statusOf(label).coolingMs, 2_000);
});

test('candidates that a new configuration lacks are removed, the others keep their circuits', () => {
  const { health } = createHealth();
  for (const one of ['kept/x', 'gone/x']) for (let n = 0; n < 3; n += 1) health.failed(one, 500);
  health.keepOnly(new Set(['kept/x']));
  assert.equal(health.statusOf('kept/x').circuit, 'open');
  assert.equal(health.statusOf('gone/x').circuit, 'closed');
  assert.equal(health.of('gone/x').attempts(60_000), 0);
});
