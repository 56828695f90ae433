import assert from 'node:assert/strict';
import { test } from 'node:test';
import { statedWaitMs } from '../../src/upstreams/stated-wait.ts';

test('the wait that a 429 states in its body, in the forms of the providers', () => {
  const retryInfo = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '2.922534355s' };
  const cases: readonly (readonly [unknown, number | null])[] = [
    [
      { error: { code: 429, message: 'Quota exceeded.', details: [{ '@type': 'x' }, retryInfo] } },
      2922.534355,
    ],
    [{ error: { message: 'Rate limit reached. Please try again in 1m2.5s. Visit https://x/1' } }, 62_500],
    [{ error: { message: 'Please try again in 850ms.' } }, 850],
    [{ error: { message: 'Please retry in 20 seconds' } }, 20_000],
    [{ error: { message: 'slow down', metadata: { retry_after_seconds: 7 } } }, 7_000],
    [{ detail: 'slow', retry_after: '3' }, 3_000],
    [{ retry_after_ms: 1500 }, 1_500],
    [{ error: { message: 'You used 20 seconds of audio' } }, null],
    [{ error: { message: 'try again later' } }, null],
    [{ retry_after: -1 }, null],
  ];
  for (const [body, wait] of cases)
    assert.equal(statedWaitMs(JSON.stringify(body)), wait, JSON.stringify(body));
  assert.equal(statedWaitMs('Too many requests, wait 5 s'), 5_000);
  assert.equal(statedWaitMs('x'.repeat(100_000)), null);
});
