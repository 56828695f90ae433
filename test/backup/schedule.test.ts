/** When scheduled backups run, and which of them stay. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expiredOf } from '../../src/backup/retention.ts';
import { isDue, latestRunMs } from '../../src/backup/schedule.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const at = (seoul: string): number => Date.parse(`${seoul}+09:00`);
const daily = { everyHours: 24, atMinute: 3 * 60 };
const never = { goodAtMs: null, failedSince: 0, failedAtMs: null };

test('a daily schedule runs at its time in Seoul, one of six hours also six hours later', () => {
  assert.equal(latestRunMs(daily, at('2026-11-24T03:00:00')), at('2026-11-24T03:00:00'));
  assert.equal(latestRunMs(daily, at('2026-11-24T02:59:59')), at('2026-11-23T03:00:00'));
  const six = { everyHours: 6, atMinute: 30 };
  assert.equal(latestRunMs(six, at('2026-11-24T12:00:00')), at('2026-11-24T06:30:00'));
  assert.equal(latestRunMs(six, at('2026-11-24T00:10:00')), at('2026-11-23T18:30:00'));
});

test('a run is due once for each instant of the schedule; a missed one is made up for', () => {
  const done = { ...never, goodAtMs: at('2026-11-24T03:00:05') };
  assert.equal(isDue(daily, never, at('2026-11-24T12:00:00')), true, 'the first one at once');
  assert.equal(isDue(daily, done, at('2026-11-25T02:59:59')), false);
  assert.equal(isDue(daily, done, at('2026-11-25T03:00:00')), true);
  assert.equal(isDue(daily, done, at('2026-11-28T20:00:00')), true, 'after days without a server');
});

test('a failed run is retried after a minute, then after twice as long, at least hourly', () => {
  const failedAtMs = at('2026-11-24T03:00:10');
  const waits = [1, 2, 3, 6, 7, 100].map((failedSince) => {
    const history = { goodAtMs: null, failedSince, failedAtMs };
    let minutes = 0;
    while (!isDue(daily, history, failedAtMs + minutes * 60_000)) minutes += 1;
    return minutes;
  });
  assert.deepEqual(waits, [1, 2, 4, 32, 60, 60]);
});

test('a run in the future counts for nothing: the clock that dated it was wrong', () => {
  const nowMs = at('2026-11-24T12:00:00');
  const later = nowMs + 58 * dayMs;
  assert.equal(isDue(daily, { ...never, goodAtMs: later }, nowMs), true);
  assert.equal(isDue(daily, { ...never, goodAtMs: nowMs + 500 }, nowMs), false, 'another server was faster');
  assert.equal(isDue(daily, { goodAtMs: null, failedSince: 5, failedAtMs: later }, nowMs), true);
});

test('a backup stays while it is one of the newest or young, and the newest always stays', () => {
  const nowMs = at('2026-11-24T03:00:00');
  const daysOld = [0, 1, 2, 3, 10, 40];
  const backups = daysOld.map((days) => ({ name: `${days}`, takenAtMs: nowMs - days * dayMs }));
  const expired = (count: number, ageDays: number | null) => expiredOf(backups, { count, ageDays }, nowMs);
  assert.deepEqual(expired(2, null), ['2', '3', '10', '40']);
  assert.deepEqual(expired(2, 5), ['10', '40']);
  assert.deepEqual(expired(5, 1), ['40']);
  assert.deepEqual(expired(100, null), []);
  const old = [{ name: 'old', takenAtMs: nowMs - 400 * dayMs }];
  assert.deepEqual(expiredOf(old, { count: 1, ageDays: 1 }, nowMs), []);
});
