/* spec:money/6.10: what a request is expected to cost before it is sent. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { array, integer, property } from 'fast-check';
import { CompletionSizes, estimate } from '../../src/inference/estimate.ts';
import { parseCompletionRequest } from '../../src/inference/parse-request.ts';
import { rateOfPico } from '../../src/money/price.ts';
import { candidate } from '../harness/plan-world.ts';
import { check } from '../harness/property.ts';

/** A prompt token is free, a completion token costs one micro-won. */
const perToken = rateOfPico(1_000_000n);
const free = rateOfPico(0n);
const price = { prompt: free, completion: perToken, request: free, cacheRead: free, cacheWrite: free };
const one = candidate('up/one', { modelId: 'test/one', maxCompletionTokens: 8_000, price });

/** The tokens that a completion is expected to have. */
function expectedOf(body: object, sizes: CompletionSizes): bigint {
  const messages = [{ role: 'user', content: 'hi' }];
  const request = parseCompletionRequest(
    'chat',
    Buffer.from(JSON.stringify({ model: 'test/one', messages, ...body })),
    null,
  );
  return estimate(request, [one], sizes);
}

test("a completion is expected to be as long as max_tokens, and never longer than the model's maximum", () => {
  const sizes = new CompletionSizes();
  for (let n = 0; n < 50; n += 1) sizes.note('test/one', 5_000);
  assert.equal(expectedOf({ max_tokens: 7 }, sizes), 7n);
  assert.equal(expectedOf({ max_tokens: 100_000 }, sizes), 8_000n);
  assert.equal(expectedOf({ max_tokens: 7, n: 3 }, sizes), 21n);
});

test('a request is expected to be billed at the highest rates of any tier and any class', () => {
  const tier = { prompt: free, completion: rateOfPico(3_000_000n), cacheRead: free, cacheWrite: perToken };
  const tiered = { ...price, tiers: { priority: tier } };
  const of = (stated: typeof price): bigint => {
    const candidates = [
      candidate('up/one', { modelId: 'test/one', maxCompletionTokens: 8_000, price: stated }),
    ];
    const body = { model: 'test/one', messages: [{ role: 'user', content: 'hi' }], max_tokens: 7 };
    const request = parseCompletionRequest('chat', Buffer.from(JSON.stringify(body)), null);
    return estimate(request, candidates, new CompletionSizes());
  };
  assert.equal(of(price), 7n);
  assert.ok(of(tiered) > 21n, 'the prompt may be written to a cache');
  assert.equal(of({ ...tiered, tiers: { priority: { ...tier, cacheWrite: free } } } as typeof price), 21n);
});

test('every completion that is generated is expected, of each prompt of a list and with best_of', () => {
  const sizes = new CompletionSizes();
  const expected = (prompt: unknown, more: object = {}): bigint => {
    const body = { model: 'test/one', prompt, max_tokens: 7, ...more };
    const request = parseCompletionRequest('text', Buffer.from(JSON.stringify(body)), null);
    return estimate(request, [one], sizes);
  };
  assert.equal(expected('a'), 7n);
  assert.equal(expected([1, 2, 3]), 7n);
  assert.equal(expected(['a', 'b']), 14n);
  assert.equal(expected([[1, 2], [3]], { n: 2 }), 28n);
  assert.equal(expected(['a', 'b'], { n: 2, best_of: 5 }), 70n);
});

test('media are expected to be as large as an upstream may count them', () => {
  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(1_000)}` } };
  const sound = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } };
  const paid = candidate('up/one', {
    modelId: 'test/one',
    contextLength: 128_000,
    price: { ...price, prompt: perToken, completion: free },
  });
  const expected = (content: readonly object[]): bigint => {
    const body = { model: 'test/one', messages: [{ role: 'user', content }] };
    const request = parseCompletionRequest('chat', Buffer.from(JSON.stringify(body)), null);
    return estimate(request, [paid], new CompletionSizes());
  };
  assert.equal(expected([image, image]), 100_000n);
  assert.ok(expected([sound]) >= 128_000n);
});

test("without max_tokens it is as long as the model's recent ones, 1,024 tokens at least", () => {
  const sizes = new CompletionSizes();
  assert.equal(expectedOf({}, sizes), 1_024n);
  for (let n = 0; n < 300; n += 1) sizes.note('test/one', 20);
  assert.equal(expectedOf({}, sizes), 1_024n);
  sizes.note('test/other', 7_000);
  assert.equal(expectedOf({}, sizes), 1_024n, 'another model does not change it');
  for (let n = 0; n < 32; n += 1) sizes.note('test/one', 3_000);
  assert.equal(expectedOf({}, sizes), 3_000n);
  for (let n = 0; n < 32; n += 1) sizes.note('test/one', 1_000_000);
  assert.equal(expectedOf({}, sizes), 8_000n);
  for (let n = 0; n < 300; n += 1) sizes.note('test/one', 20);
  assert.equal(expectedOf({}, sizes), 1_024n, 'what was long ago is forgotten');
});

test('at most one in a hundred of the last completions was longer than expected, but for the last 16', () => {
  check(
    property(array(integer({ min: 0, max: 9_000 }), { minLength: 1, maxLength: 600 }), (made) => {
      const sizes = new CompletionSizes();
      for (const tokens of made) sizes.note('test/one', tokens);
      const settled = made.slice(0, made.length - (made.length % 16)).slice(-256);
      const longer = settled.filter((tokens) => tokens > sizes.expected('test/one')).length;
      assert.ok(longer <= settled.length / 100, `${longer} of ${settled.length}`);
    }),
  );
});

test('a model that was used long before 4,096 others is evicted', () => {
  const sizes = new CompletionSizes();
  for (let n = 0; n <= 4_096; n += 1) sizes.note(`test/${n}`, 2_000);
  assert.deepEqual([sizes.expected('test/0'), sizes.expected('test/1')], [0, 2_000]);
});
