/* spec:money/4.8: what a prompt has that an upstream may count. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCompletionRequest } from '../../src/inference/parse-request.ts';
import { countTexts } from '../../src/metering/count-tokens.ts';
import { priceResponse } from '../../src/metering/price-response.ts';
import { maxTokensOfText, promptText } from '../../src/metering/prompt-size.ts';
import { ClaimBounds } from '../../src/metering/reconcile-usage.ts';
import { ResponseTotals } from '../../src/metering/response-totals.ts';
import type { CompletionKind } from '../../src/wire/chat.ts';
import { candidate } from '../harness/plan-world.ts';

const long = '강을 건너는 곳. '.repeat(500);
const bytes = Buffer.byteLength(long);

function read(body: object, kind: CompletionKind = 'chat') {
  return parseCompletionRequest(kind, Buffer.from(JSON.stringify({ model: 'a/b', ...body })), null);
}

/** What is billed when the upstream claims these tokens for a response of one word. */
async function billed(
  body: object,
  [promptTokens, completionTokens]: readonly [number, number],
  { kind = 'chat' }: { readonly kind?: CompletionKind } = {},
): Promise<readonly [number, number, string]> {
  const request = read(body, kind);
  const one = candidate('up/one', {
    contextLength: 128_000,
    maxCompletionTokens: 4_000,
    supportedParameters: new Set(['max_tokens']),
  });
  const totals = new ResponseTotals(new ClaimBounds(request, one), countTexts);
  totals.take({
    choices: [
      {
        index: 0,
        delta: { content: 'yes' },
        finish_reason: 'stop',
        native_finish_reason: 'stop',
        logprobs: null,
      },
    ],
    usage: {
      promptTokens,
      completionTokens,
      reasoningTokens: undefined,
      cacheReadTokens: undefined,
      cacheWriteTokens: undefined,
    },
    upstreamId: null,
    systemFingerprint: null,
    serviceTier: null,
  });
  const { usage, source } = await priceResponse(request, one, totals, countTexts);
  return [usage.promptTokens, usage.completionTokens, source];
}

const user = (content: unknown) => ({ messages: [{ role: 'user', content }] });

const places: Readonly<Record<string, object>> = {
  'a content': user(long),
  'a part': user([{ type: 'text', text: long }]),
  'a refusal as a part': { messages: [{ role: 'system', content: [{ type: 'refusal', refusal: long }] }] },
  'a part of an unknown type': user([{ type: 'thinking', thinking: [{ type: 'text', text: long }] }]),
  'a part that names itself media': user([{ type: 'other', other: [{ type: 'image_url', text: long }] }]),
  'a name': { messages: [{ role: 'user', content: 'x', name: long }] },
  'a refusal': { messages: [{ role: 'assistant', content: null, refusal: long }] },
  reasoning: { messages: [{ role: 'assistant', content: 'x', reasoning: long }] },
  reasoning_content: { messages: [{ role: 'assistant', content: 'x', reasoning_content: long }] },
  'the text of reasoning_details': {
    messages: [
      { role: 'assistant', content: 'x', reasoning_details: [{ type: 'reasoning.text', text: long }] },
    ],
  },
  'a member that only some templates know': {
    messages: [{ role: 'assistant', content: 'x', thoughts: long }],
  },
  'a tool call': {
    messages: [
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c', function: { name: 'f', arguments: long } }],
      },
    ],
  },
  tools: { ...user('x'), tools: [{ type: 'function', function: { name: 'f', description: long } }] },
  'a schema': { ...user('x'), response_format: { type: 'json_schema', json_schema: { name: long } } },
  'arguments of the template': { ...user('x'), chat_template_kwargs: { documents: [{ text: long }] } },
};
for (const [name, body] of Object.entries(places)) {
  test(`the text of ${name} may be billed to its last byte, and is counted without a claim`, async () => {
    assert.deepEqual(await billed(body, [bytes, 1]), [bytes, 1, 'upstream']);
    const [counted, , source] = await billed(body, [0, 1]);
    assert.equal(source, 'counted');
    assert.ok(counted >= 0.9 * (await countTexts([long])), `${counted}`);
  });
}

const beside: Readonly<Record<string, object>> = {
  'sealed reasoning': {
    messages: [
      { role: 'assistant', content: 'x', reasoning_details: [{ type: 'reasoning.encrypted', data: long }] },
    ],
  },
  'an id': { messages: [{ role: 'tool', content: 'x', tool_call_id: long }] },
};
for (const [name, body] of Object.entries(beside)) {
  test(`${name} may be billed, and is not counted as text without a claim`, async () => {
    assert.deepEqual(await billed(body, [bytes, 1]), [bytes, 1, 'upstream']);
    const [counted] = await billed(body, [0, 1]);
    assert.ok(counted < 20, `${counted}`);
  });
}

test('reasoning that is returned in three forms is counted once', async () => {
  const thought = 'The river is wide. '.repeat(50);
  const message = {
    role: 'assistant',
    content: 'x',
    reasoning: thought,
    reasoning_content: thought,
    reasoning_details: [{ type: 'reasoning.text', text: thought, format: 'unknown', index: 0 }],
  };
  const { input, parameters } = read({ messages: [message] });
  const text = promptText(input, parameters);
  assert.deepEqual(text.texts, ['x', thought]);
  assert.ok(maxTokensOfText(text) >= 2 * thought.length);
});

test('the suffix of a text completion is a part of its prompt', async () => {
  const body = { prompt: 'x', suffix: long };
  assert.deepEqual(await billed(body, [bytes, 1], { kind: 'text' }), [bytes, 1, 'upstream']);
});

// OpenAI counts 25,501 tokens for 1024 × 1024 pixels with gpt-4o-mini, and 19,200 for ten minutes
// of sound are usual with Gemini.
test('media are billed as upstreams count them, and an absurd claim is not', async () => {
  const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
  const one = user([{ type: 'text', text: 'What is it?' }, image]);
  assert.deepEqual(await billed(one, [25_512, 1]), [25_512, 1, 'upstream']);
  assert.equal((await billed(one, [60_000, 1]))[2], 'rejected');
  const several = user([image, image, image, image, image, image]);
  assert.deepEqual(await billed(several, [153_010, 1]), [153_010, 1, 'upstream']);
  for (const part of [
    { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } },
    { type: 'audio_url', audio_url: { url: 'https://example.com/a.mp3' } },
    { type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA', filename: 'a.pdf' } },
    { type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } },
  ]) {
    assert.deepEqual(await billed(user([part]), [100_000, 1]), [100_000, 1, 'upstream']);
    assert.equal((await billed(user([part]), [200_000, 1]))[2], 'rejected');
  }
});

test('images of an earlier response are media of the prompt', async () => {
  const images = [{ type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(40_000)}` } }];
  const body = { messages: [{ role: 'assistant', content: '', images }] };
  assert.equal(read(body).textBytes, 0);
  assert.deepEqual(await billed(body, [25_000, 1]), [25_000, 1, 'upstream']);
});

test('a completion is billed beyond its text for what cannot be seen in it', async () => {
  const prompt = { prompt: 'x' };
  assert.equal((await billed(prompt, [1, 300], { kind: 'text' }))[2], 'rejected');
  assert.deepEqual(await billed({ ...prompt, best_of: 3 }, [1, 300], { kind: 'text' }), [1, 300, 'upstream']);
  assert.equal((await billed({ ...prompt, best_of: 3 }, [1, 9_000], { kind: 'text' }))[2], 'rejected');
  const predicted = { ...user('x'), prediction: { type: 'content', content: long } };
  assert.deepEqual(await billed(predicted, [1, bytes], {}), [1, bytes, 'upstream']);
});
