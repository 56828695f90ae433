import assert from 'node:assert/strict';
import { test } from 'node:test';
import { constantFrom, integer, property } from 'fast-check';
import { isoOf, parseInstant, pause, systemClock } from '../../src/time/clock.ts';
import { isoDay, limitResets, periodAt, periodStartDay, seoulDayAt } from '../../src/time/period.ts';
import { check } from '../harness/property.ts';

const seoul = new Intl.DateTimeFormat('en-CA', {
  timeZone: 'Asia/Seoul',
  weekday: 'short',
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});
/** ICU's date of an instant in Seoul. */
function icuAt(ms: number): Readonly<Record<string, string>> {
  return Object.fromEntries(seoul.formatToParts(ms).map(({ type, value }) => [type, value]));
}
// From the end of the last daylight saving time in Seoul.
const instants = integer({ min: Date.UTC(1989, 0, 1), max: Date.UTC(2200, 0, 1) });

// spec:money/7.1
test('the Seoul day of an instant agrees with ICU', () => {
  check(
    property(instants, (ms) => {
      const { year, month, day } = icuAt(ms);
      assert.equal(isoDay(seoulDayAt(ms)), `${year}-${month}-${day}`);
    }),
    { numRuns: 500 },
  );
});

// spec:money/7.1
test('every period contains its instant, begins at midnight in Seoul on its day, and ends where the next begins', () => {
  check(
    property(instants, constantFrom('daily', 'weekly', 'monthly' as const), (ms, reset) => {
      const { startMs, endMs } = periodAt(reset, ms);
      assert.ok(startMs <= ms && ms < endMs);
      const start = icuAt(startMs);
      assert.equal(`${start['hour']}:${start['minute']}:${start['second']}`, '00:00:00');
      if (reset === 'weekly') assert.equal(start['weekday'], 'Mon');
      if (reset === 'monthly') assert.equal(start['day'], '01');
      assert.deepEqual(periodAt(reset, endMs - 1), { startMs, endMs });
      assert.equal(periodAt(reset, endMs).startMs, endMs);
      assert.equal(periodStartDay(reset, seoulDayAt(ms)), seoulDayAt(startMs));
    }),
    { numRuns: 500 },
  );
});

test('a limit that never resets has one period', () => {
  assert.deepEqual(periodAt('never', 0), {
    startMs: Number.NEGATIVE_INFINITY,
    endMs: Number.POSITIVE_INFINITY,
  });
  assert.deepEqual([...limitResets], ['never', 'daily', 'weekly', 'monthly']);
});

test('only an instant with an offset that exists is read', () => {
  check(property(instants, (ms) => parseInstant(isoOf(ms)) === ms));
  assert.equal(parseInstant('2026-03-01T09:00:00+09:00'), Date.UTC(2026, 2, 1));
  for (const bad of [
    '2026-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-01',
    '2026-01-01T00:00:00',
    '2026-01-01 00:00:00Z',
    '2026-01-01T25:00:00Z',
    'now',
    '',
    '2026-01-32T00:00:00Z',
    '+002026-01-01T00:00:00Z',
  ])
    assert.equal(parseInstant(bad), null, bad);
});

test('a pause ends early with the reason of its signal', async () => {
  const leave = new AbortController();
  const waiting = pause(systemClock, 60_000, leave.signal);
  leave.abort(new Error('enough'));
  await assert.rejects(waiting, /enough/);
  await assert.rejects(pause(systemClock, 60_000, leave.signal), /enough/);
  await pause(systemClock, 1, new AbortController().signal);
});
