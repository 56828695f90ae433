import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResponseTotals } from '../../src/metering/response-totals.ts';
import type { FinishReason, ResponseChunk } from '../../src/wire/chat.ts';

const mebi = 1024 * 1024;

function chunkOf(content: string, finish: FinishReason | null = null): ResponseChunk {
  return {
    choices: [
      { index: 0, delta: { content }, finish_reason: finish, native_finish_reason: finish, logprobs: null },
    ],
    usage: null,
    upstreamId: null,
    systemFingerprint: null,
    serviceTier: null,
  };
}

test('a response is too long beyond 32 Mi units of text', () => {
  const totals = new ResponseTotals();
  totals.take(chunkOf('x'.repeat(32 * mebi)));
  assert.equal(totals.isTooLong, false);
  totals.take(chunkOf('x'));
  assert.equal(totals.isTooLong, true);
});

test('text after the end is too long beyond one Mi unit, however long the response was', () => {
  const totals = new ResponseTotals();
  totals.take(chunkOf('x'.repeat(2 * mebi), 'stop'));
  totals.take(chunkOf('x'.repeat(mebi)));
  assert.equal(totals.isTooLong, false);
  totals.take(chunkOf('x', 'stop'));
  assert.equal(totals.isTooLong, true);
});

test('ids of tool calls are limited like text, and are no text', () => {
  const totals = new ResponseTotals();
  const call = (id: string): ResponseChunk => ({
    ...chunkOf(''),
    choices: [
      {
        index: 0,
        delta: { tool_calls: [{ index: 0, id, type: 'function', function: { name: 'f' } }] },
        finish_reason: null,
        native_finish_reason: null,
        logprobs: null,
      },
    ],
  });
  totals.take(call('x'.repeat(32 * mebi)));
  assert.equal(totals.isTooLong, false);
  totals.take(call('x'));
  assert.equal(totals.isTooLong, true);
  assert.equal(totals.text, 'ff');
});
