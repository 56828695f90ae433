/** The parts of an attempt, from the instants in its record. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type AttemptPhases, phasesOf } from '../../src/generations/attempt-phases.ts';
import type { AttemptRecord } from '../../src/generations/generation.ts';
import { check } from '../harness/property.ts';

const attempt: AttemptRecord = {
  provider_name: 'Upstream 1',
  model_permaslug: 'test/model',
  endpoint_id: 'up1',
  status: 200,
  latency: 100,
  is_byok: false,
  at: [],
};
const request = { request_id: 'req', api_type: 'completions', endpoint: 'chat' } as const;

function phases(
  changes: Partial<AttemptRecord>,
  detail: { streamed?: boolean; latency_ms?: number | null; generation_ms?: number | null } = {},
): AttemptPhases {
  return phasesOf({ ...attempt, ...changes }, { ...request, ...detail });
}

test('a streamed response has all parts, and they end with the response', () => {
  const detail = { streamed: true, latency_ms: 130, generation_ms: 400 };
  assert.deepEqual(phases({ at: [30, 40, 45, 90] }, detail), {
    queueMs: 10,
    connectMs: 5,
    firstByteMs: 45,
    firstTokenMs: 40,
    streamMs: 270,
  });
});

test('a whole response has no first token', () => {
  const detail = { streamed: false, latency_ms: 130, generation_ms: 131 };
  assert.deepEqual(phases({ at: [30, 30, 31, 90] }, detail), {
    queueMs: 0,
    connectMs: 1,
    firstByteMs: 59,
    firstTokenMs: null,
    streamMs: 41,
  });
});

test('an attempt that failed ends with the part in which it failed', () => {
  const none = { connectMs: null, firstByteMs: null, firstTokenMs: null, streamMs: null };
  const failure = 'timed_out';
  // What came after it does not belong to it.
  const detail = { streamed: true, latency_ms: 900, generation_ms: 1000 };
  assert.deepEqual(phases({ failure, at: [5] }, detail), { ...none, queueMs: 100 });
  assert.deepEqual(phases({ failure, at: [5, 15] }, detail), { ...none, queueMs: 10, connectMs: 90 });
  assert.deepEqual(phases({ failure, at: [5, 15, 20] }, detail), {
    ...none,
    queueMs: 10,
    connectMs: 5,
    firstByteMs: 85,
  });
  const responded = { ...none, queueMs: 10, connectMs: 5, firstByteMs: 30 };
  const at = [5, 15, 20, 50];
  assert.deepEqual(phases({ failure, status: null, at }, detail), { ...responded, firstTokenMs: 55 });
  assert.deepEqual(phases({ failure, status: 503, at }, detail), { ...responded, streamMs: 55 });
});

test('the parts of a response fill the time from its attempt to its end, to the millisecond', () => {
  const duration = fc.integer({ min: 0, max: 100_000 });
  check(
    fc.property(fc.array(duration, { minLength: 6, maxLength: 6 }), fc.boolean(), (parts, streamed) => {
      const instants: number[] = [];
      for (const part of parts) instants.push((instants.at(-1) ?? 0) + part);
      const [startsMs = 0, acquiredMs = 0, connectedMs = 0, respondedMs = 0, contentMs = 0, endMs = 0] =
        instants;
      const found = phases(
        { latency: contentMs - startsMs, at: [startsMs, acquiredMs, connectedMs, respondedMs] },
        { streamed, latency_ms: contentMs, generation_ms: endMs },
      );
      const sum = Object.values(found).reduce((all: number, ms: number | null) => all + (ms ?? 0), 0);
      assert.equal(sum, endMs - startsMs);
    }),
  );
});
