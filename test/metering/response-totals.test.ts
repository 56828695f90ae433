import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCompletionRequest } from '../../src/inference/parse-request.ts';
import { countTexts } from '../../src/metering/count-tokens.ts';
import { priceResponse } from '../../src/metering/price-response.ts';
import { ClaimBounds } from '../../src/metering/reconcile-usage.ts';
import { ResponseTotals } from '../../src/metering/response-totals.ts';
import type { FinishReason, ResponseChunk, UsageClaim } from '../../src/wire/chat.ts';
import { candidate } from '../harness/plan-world.ts';

const mebi = 1024 * 1024;
const request = parseCompletionRequest(
  'chat',
  Buffer.from(JSON.stringify({ model: 'a/b', messages: [{ role: 'user', content: 'hi' }] })),
  null,
);
const one = candidate('up/one', { supportedParameters: new Set(['max_tokens']) });
const newTotals = (count = countTexts) => new ResponseTotals(new ClaimBounds(request, one), count);

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
  const totals = newTotals();
  totals.take(chunkOf('x'.repeat(32 * mebi)));
  assert.equal(totals.isTooLong, false);
  totals.take(chunkOf('x'));
  assert.equal(totals.isTooLong, true);
});

test('text after the end is too long beyond one Mi unit, however long the response was', () => {
  const totals = newTotals();
  totals.take(chunkOf('x'.repeat(2 * mebi), 'stop'));
  totals.take(chunkOf('x'.repeat(mebi)));
  assert.equal(totals.isTooLong, false);
  totals.take(chunkOf('x', 'stop'));
  assert.equal(totals.isTooLong, true);
});

test('ids of tool calls are limited like text, and are no text', () => {
  const totals = newTotals();
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
  assert.equal(totals.text.length, 2);
});

test('a long text is counted as it passes, with the tokens of the whole, and only its end is kept', async () => {
  const text = '나루는 강을 건너는 곳이다. A ferry crosses it. 🛶 '.repeat(10_000);
  const longest = { units: 0 };
  const totals = newTotals(async (texts, enough) => {
    for (const each of texts) longest.units = Math.max(longest.units, each.length);
    return countTexts(texts, enough);
  });
  for (let at = 0; at < text.length; at += 10_007) {
    totals.take(chunkOf(text.slice(at, at + 10_007)));
    await totals.text.countPieces();
  }
  assert.equal(await totals.text.tokens(), await countTexts([text]));
  assert.equal(totals.text.length, text.length);
  assert.ok(longest.units <= 65_536, `${longest.units} units at once`);
});

const claim = (promptTokens: unknown, completionTokens: unknown): UsageClaim => ({
  promptTokens,
  completionTokens,
  reasoningTokens: undefined,
  cacheReadTokens: undefined,
  cacheWriteTokens: undefined,
});

// spec:money/4.9
test('a later claim replaces an earlier one unless only the earlier one is plausible', async () => {
  for (const [claims, billed] of [
    [
      [claim(7, 3), claim(0, 0)],
      [7, 3, 'upstream'],
    ],
    [
      [claim(7, 3), claim(1e308, 3), claim(7, 1e9), claim('', null)],
      [7, 3, 'upstream'],
    ],
    [
      [claim(7, 1), claim(7, 2), claim(7, 3)],
      [7, 3, 'upstream'],
    ],
    [
      [claim(0, 0), claim(1e308, 3), claim(7, 3)],
      [7, 3, 'upstream'],
    ],
    [
      [claim(0, 0), claim(1e308, 3)],
      [5, 1, 'rejected'],
    ],
  ] as const) {
    const totals = newTotals();
    totals.take(chunkOf('hello', 'stop'));
    for (const usage of claims) totals.take({ ...chunkOf(''), choices: [], usage });
    const { usage, source } = await priceResponse(request, one, totals, countTexts);
    assert.deepEqual([usage.promptTokens, usage.completionTokens, source], billed);
  }
});
