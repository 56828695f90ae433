import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retryAfterOf } from '../../../src/http/client/retry-after.ts';

test('`Retry-After` is read in seconds, in milliseconds and as a date against the `Date` beside it', () => {
  const date = 'Sun, 06 Nov 1994 08:49:37 GMT';
  const nowMs = Date.parse(date);
  const read = (headers: Record<string, string | string[]>) => retryAfterOf(headers, nowMs);
  assert.equal(read({ 'retry-after': '7' }), 7_000);
  assert.equal(read({ 'retry-after': ' 1.5 ' }), 1_500);
  assert.equal(read({ 'retry-after-ms': '2500', 'retry-after': '3' }), 2_500);
  assert.equal(read({ 'retry-after': 'Sun, 06 Nov 1994 08:50:07 GMT' }), 30_000);
  assert.equal(
    read({ 'retry-after': 'Sun, 06 Nov 1994 08:50:07 GMT', date: 'Sun, 06 Nov 1994 08:50:00 GMT' }),
    7_000,
  );
  assert.equal(read({ 'retry-after': 'Sun, 06 Nov 1994 08:49:07 GMT' }), 0, 'an instant in the past');
  for (const odd of [
    '',
    'soon',
    '-3',
    'NaN',
    '1e9',
    '9'.repeat(400),
    'Sun, 99 Nov 1994 08:49:37 GMT',
    '2026-01-01',
  ]) {
    assert.equal(read({ 'retry-after': odd }), null, odd);
  }
  assert.equal(read({ 'retry-after': ['1', '2'] }), null);
  assert.equal(read({}), null);
});
