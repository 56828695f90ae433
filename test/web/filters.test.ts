/** What the filters of the URL become in the queries of the pages. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { spanOf } from '../../src/pages/usage-query.ts';
import { hasHours, type Range } from '../../web/src/format/range.ts';
import { seoulDay, startOfDay } from '../../web/src/format/time.ts';
import { chipNames, type RequestFilter, requestQuery } from '../../web/src/requests/request-query.ts';
import { check } from '../harness/property.ts';

const dayMs = 86_400_000;
const nothing: RequestFilter = {
  outcome: '',
  status: [],
  error: [],
  model: [],
  provider: [],
  key: [],
  app: [],
  finish: [],
  user: [],
  tag: [],
  tag_value: [],
};

test('every value of a filter reaches the API, and a value of another form is left out', () => {
  const [one, other] = ['a'.repeat(64), 'b'.repeat(64)];
  assert.deepEqual(requestQuery(nothing), {});
  assert.deepEqual(
    requestQuery({
      outcome: 'failed',
      status: ['429', '502', '9', 'x'],
      error: ['rate_limit', 'provider_error'],
      model: ['a/b', 'c/d'],
      provider: ['p'],
      key: [one, other, 'c'],
      app: ['0', '12', '-1'],
      finish: ['stop', 'length'],
      user: ['a,b'],
      tag: ['team'],
      tag_value: ['red, blue'],
    }),
    {
      outcome: 'failed',
      status: '429,502',
      error_type: 'rate_limit,provider_error',
      model: 'a/b,c/d',
      provider: 'p',
      key: `${one},${other}`,
      app: '0,12',
      finish_reason: 'stop,length',
      user: 'a,b',
      tag: 'team',
      tag_value: 'red, blue',
    },
  );
  assert.deepEqual(requestQuery({ ...nothing, tag_value: ['red'] }), {});
  for (const name of chipNames) assert.deepEqual(requestQuery({ ...nothing, [name]: [] }), {}, name);
});

test('hours are offered for exactly the ranges for which the API has them', () => {
  const nowMs = Date.parse('2026-05-31T12:00:00+09:00');
  const isAccepted = (range: Range, fromMs: number | null, toMs: number | null): boolean => {
    const custom = fromMs === null || toMs === null ? {} : { from: fromMs, to: toMs + dayMs };
    const span = spanOf({ range: range.range, ...custom }, nowMs);
    return span.toMs - span.fromMs <= 8 * dayMs;
  };
  for (const range of ['today', '7d', '30d', 'month'] as const)
    assert.equal(hasHours({ range }), isAccepted({ range }, null, null), range);
  check(
    fc.property(fc.integer({ min: 0, max: 700 }), fc.integer({ min: 0, max: 20 }), (start, days) => {
      const from = seoulDay(nowMs, -start);
      const to = seoulDay(nowMs, days - start);
      const range: Range = { range: 'custom', from, to };
      assert.equal(hasHours(range), isAccepted(range, startOfDay(from), startOfDay(to)), `${from} to ${to}`);
    }),
  );
});
