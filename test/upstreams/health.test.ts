import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { defaultConfig } from '../../src/config/load.ts';
import { systemClock } from '../../src/time/clock.ts';
import { Health } from '../../src/upstreams/health.ts';
import { fiveMinutesMs, halfAnHourMs, oneDayMs } from '../../src/upstreams/health-status.ts';
import { BucketRing } from '../../src/upstreams/rolling-windows.ts';
import { check } from '../harness/property.ts';

const { routing } = defaultConfig();
const windows = [fiveMinutesMs, halfAnHourMs, oneDayMs];

/** Health on a clock that only the test moves. */
function createHealth() {
  let nowMs = 12_345_678;
  const health = new Health({ ...systemClock, monotonic: () => nowMs }, routing);
  const pass = (ms: number): void => {
    nowMs += ms;
  };
  return { health, pass };
}

const response = { broken: false, tokens: 10, tookMs: 100 };

test('a candidate that was never tried has no numbers', () => {
  const { health } = createHealth();
  const of = health.of('up1/x');
  assert.deepEqual(
    windows.map((window) => of.uptime(window)),
    [null, null, null],
  );
  assert.equal(of.latency(halfAnHourMs), null);
  assert.equal(of.throughput(halfAnHourMs), null);
});

test('uptime is the share of successes, and drops samples older than its window', () => {
  const { health, pass } = createHealth();
  const of = health.of('up1/x');
  for (let n = 0; n < 3; n += 1) health.ended('up1/x', response);
  health.failed('up1/x', 500);
  assert.deepEqual(
    windows.map((window) => of.uptime(window)),
    [75, 75, 75],
  );
  pass(fiveMinutesMs);
  health.failed('up1/x', null);
  assert.deepEqual(
    windows.map((window) => of.uptime(window)),
    [0, 60, 60],
  );
  pass(halfAnHourMs);
  health.ended('up1/x', response);
  assert.deepEqual(
    windows.map((window) => of.uptime(window)),
    [100, 100, 66.667],
  );
  pass(oneDayMs);
  assert.deepEqual(
    windows.map((window) => of.uptime(window)),
    [null, null, null],
  );
});

test('an interrupted response is a failure; a rate limit and a bad request are neither', () => {
  const { health } = createHealth();
  for (const status of [400, 403, 413, 422, 429]) health.failed('up1/x', status);
  assert.equal(health.of('up1/x').uptime(fiveMinutesMs), null);
  health.ended('up1/x', response);
  health.ended('up1/x', { ...response, broken: true });
  for (const status of [401, 402]) health.failed('up1/x', status);
  assert.equal(health.of('up1/x').uptime(fiveMinutesMs), 25);
});

test('candidates are measured separately', () => {
  const { health } = createHealth();
  health.ended('up1/x', response);
  health.failed('slot/a', null);
  assert.equal(health.of('up1/x').uptime(oneDayMs), 100);
  assert.equal(health.of('slot/a').uptime(oneDayMs), 0);
});

test('a latency percentile is an upper bound, a throughput percentile a lower bound', () => {
  const { health } = createHealth();
  for (let n = 1; n <= 100; n += 1) {
    health.responded('up1/x', n * 10);
    health.ended('up1/x', { broken: false, tokens: n, tookMs: 1000 });
  }
  const close = (found: object | null, wanted: Record<string, number>): void => {
    for (const [name, value] of Object.entries(wanted)) {
      const got = (found as Record<string, number>)[name] ?? Number.NaN;
      assert.ok(Math.abs(got / value - 1) < 0.05, `${name}: ${got}, not ${value}`);
    }
  };
  close(health.of('up1/x').latency(halfAnHourMs), { p50: 500, p75: 750, p90: 900, p99: 990 });
  close(health.of('up1/x').throughput(halfAnHourMs), { p50: 51, p75: 26, p90: 11, p99: 2 });
});

test('an impossible speed is ignored', () => {
  const { health } = createHealth();
  health.ended('up1/x', { broken: false, tokens: 0, tookMs: 100 });
  health.ended('up1/x', { broken: false, tokens: 5, tookMs: 0 });
  health.ended('up1/x', { broken: true, tokens: 5, tookMs: 100 });
  assert.equal(health.of('up1/x').throughput(halfAnHourMs), null);
});

test('every percentile is within five percent of the true one, whatever the samples', () => {
  check(
    fc.property(
      fc.array(fc.double({ min: 0.01, max: 600_000, noNaN: true }), { minLength: 1, maxLength: 200 }),
      (samples) => {
        const { health } = createHealth();
        for (const sample of samples) health.responded('x', sample);
        const sorted = samples.toSorted((a, b) => a - b);
        const found = health.of('x').latency(halfAnHourMs);
        for (const [name, share] of [
          ['p50', 0.5],
          ['p75', 0.75],
          ['p90', 0.9],
          ['p99', 0.99],
        ] as const) {
          const exact = sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
          const got = found?.[name] ?? Number.NaN;
          assert.ok(Math.abs(got / exact - 1) < 0.05, `${name}: ${got}, not ${exact}`);
        }
      },
    ),
  );
});

test('a ring counts its window to the length of a bucket, whatever came before', () => {
  const moves = fc.array(fc.tuple(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 2 })), {
    maxLength: 200,
  });
  check(
    fc.property(moves, fc.integer({ min: 1, max: 80 }), (steps, windowMs) => {
      const ring = new BucketRing({ bucketMs: 10, buckets: 8, lanes: 3 });
      const all: (readonly [number, number])[] = [];
      let nowMs = 0;
      for (const [stepMs, lane] of steps) {
        nowMs += stepMs;
        ring.add(nowMs, lane);
        all.push([nowMs, lane]);
      }
      const oldest = (Math.floor(nowMs / 10) - Math.ceil(windowMs / 10) + 1) * 10;
      const expected = [0, 1, 2].map(
        (lane) => all.filter(([atMs, its]) => its === lane && atMs >= oldest).length,
      );
      assert.deepEqual([...ring.totals(nowMs, windowMs)], expected);
    }),
  );
});
