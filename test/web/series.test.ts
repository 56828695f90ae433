/** The axes of usage charts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatIn } from '../../web/src/i18n/use-format.ts';
import { axisOf, type Step, stepsOf } from '../../web/src/usage/series.ts';

const midnight = Date.parse('2026-11-22T00:00:00+09:00');
const dayMs = 86_400_000;

function labels(step: Step, days: number, language: 'ko' | 'en'): readonly string[] {
  const toMs = midnight + days * dayMs;
  return axisOf(stepsOf(midnight, toMs, step, toMs), step, formatIn(language)).map(({ label }) => label);
}

test('the hours of one day are hours, those of several days state their day', () => {
  assert.deepEqual(labels('hour', 1, 'ko').slice(0, 2), ['0시', '1시']);
  assert.deepEqual(labels('hour', 1, 'en').slice(-1), ['23:00']);
  assert.deepEqual(labels('hour', 2, 'ko').slice(23, 25), ['11/22 23시', '11/23 0시']);
  assert.equal(new Set(labels('hour', 8, 'en')).size, 8 * 24);
});

test('days and weeks have the day on which they begin, months their name', () => {
  assert.deepEqual(labels('day', 2, 'ko'), ['11/22', '11/23']);
  // The 22nd is a Sunday: its week began on Monday the 16th.
  assert.deepEqual(labels('week', 2, 'en'), ['Nov 16', 'Nov 23']);
  assert.deepEqual(labels('month', 20, 'ko'), ['2026년 11월', '2026년 12월']);
});
