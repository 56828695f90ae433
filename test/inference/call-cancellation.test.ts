import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallScope } from '../../src/inference/time-limits.ts';
import { systemClock } from '../../src/time/clock.ts';

const limits = { firstByteMs: 60_000, budget: { limitMs: 60_000, leftMs: 60_000 }, total: null };

test('a call to an engine that was lost before the call began is cancelled from the beginning', () => {
  const call = new CallScope(systemClock, limits, new AbortController().signal, AbortSignal.abort());
  assert.match(call.cancelReason?.message ?? '', /the engine was lost/);
  call.end();
});

test('if the client left and the engine is lost, the client is the reason', () => {
  const left = new Error('the client left');
  const call = new CallScope(systemClock, limits, AbortSignal.abort(left), AbortSignal.abort());
  assert.equal(call.cancelReason, left);
  call.end();
});
