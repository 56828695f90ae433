import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { providerVariants } from '../../src/config/variants.ts';
import { anthropicDialect } from '../../src/dialects/anthropic/index.ts';
import { bedrockDialect } from '../../src/dialects/bedrock/index.ts';
import { type Destination, UnsupportedRequest } from '../../src/dialects/dialect.ts';
import { googleDialect } from '../../src/dialects/google/index.ts';
import { openaiDialect } from '../../src/dialects/openai/index.ts';
import { Refusal } from '../../src/errors/catalogue.ts';
import { parseCompletionRequest } from '../../src/inference/parse-request.ts';
import { maxTokensOfText, promptText } from '../../src/metering/prompt-size.ts';
import { checkAsync } from '../harness/property.ts';
import { byTier } from '../harness/tier.ts';

const access = { baseUrl: 'https://upstream.example', apiKey: 'k', headers: {} };
const aws = { region: 'us-east-1', accessKeyId: '', secretAccessKey: '', sessionToken: '' };
const all = [
  { dialect: anthropicDialect(access), model: 'claude-sonnet-4-5' },
  { dialect: googleDialect(access), model: 'gemini-2.5-flash' },
  { dialect: bedrockDialect({ ...access, ...aws }), model: 'amazon.nova-pro-v1:0' },
];

const odd = fc.oneof(
  { weight: 5, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
  { weight: 2, arbitrary: fc.string({ maxLength: 5 }) },
  fc.constantFrom({ toString: 1 }, { constructor: null }, { length: -1 }),
);
const url = fc.oneof(
  odd,
  fc.constantFrom(
    'https://example.com/a.png',
    'data:image/png;base64,AAAA',
    'data:;base64,',
    'data:x',
    'https://',
  ),
);
const part = fc.oneof(
  fc.record({ type: fc.constant('text'), text: odd, cache_control: odd }),
  fc.record({
    type: fc.constantFrom('image_url', 'video_url', 'input_image'),
    image_url: url,
    video_url: url,
  }),
  fc.record({ type: fc.constant('file'), file: fc.oneof(odd, fc.record({ file_data: url, filename: odd })) }),
  fc.record({
    type: fc.constant('input_audio'),
    input_audio: fc.oneof(odd, fc.record({ data: odd, format: odd })),
  }),
  fc.record({ type: fc.string({ maxLength: 5 }) }),
);
const detail = fc.record({
  type: fc.constantFrom('reasoning.text', 'reasoning.encrypted', 'reasoning.summary'),
  text: odd,
  signature: odd,
  data: odd,
  id: odd,
  index: odd,
  format: fc.constantFrom('anthropic-claude-v1', 'google-gemini-v1', 'unknown', null),
});
const call = fc.oneof(
  odd,
  fc.record({ id: odd, function: fc.oneof(odd, fc.record({ name: odd, arguments: odd })) }),
);
const message = fc.record(
  {
    role: fc.constantFrom('system', 'developer', 'user', 'assistant', 'tool', 'function'),
    content: fc.oneof(fc.string({ maxLength: 5 }), fc.constant(null), fc.array(part, { maxLength: 3 })),
    name: odd,
    tool_call_id: fc.string({ maxLength: 5 }),
    tool_calls: fc.oneof(odd, fc.array(call, { maxLength: 2 })),
    reasoning_details: fc.oneof(odd, fc.array(fc.oneof(odd, detail), { maxLength: 3 })),
    cache_control: odd,
  },
  { requiredKeys: ['role', 'tool_call_id'] },
);
const tool = fc.record({
  type: fc.constant('function'),
  function: fc.record({ name: fc.string({ minLength: 1, maxLength: 5 }), description: odd, parameters: odd }),
});
const body = fc.record(
  {
    model: fc.constant('a/b'),
    messages: fc.array(message, { minLength: 1, maxLength: 5 }),
    stream: fc.boolean(),
    tools: fc.array(tool, { maxLength: 2 }),
    tool_choice: fc.constantFrom<unknown>('auto', 'none', 'required', null, {
      type: 'function',
      function: { name: 'f' },
    }),
    response_format: fc.oneof(
      fc.object({ maxDepth: 1 }),
      fc.record({
        type: fc.constantFrom('json_object', 'json_schema'),
        json_schema: fc.object({ maxDepth: 2 }),
      }),
    ),
    reasoning: fc.oneof(
      fc.object({ maxDepth: 1 }),
      fc.record({ effort: fc.constantFrom('high', 'none', null), max_tokens: odd, exclude: odd }),
    ),
    max_tokens: fc.integer({ min: 1, max: 100_000 }),
    stop: fc.array(fc.string({ maxLength: 3 }), { maxLength: 2 }),
    cache_control: fc.object({ maxDepth: 1 }),
  },
  { requiredKeys: ['model', 'messages'] },
);

test('every valid request is either encoded or unsupported, within its own limit', async () => {
  let encoded = 0;
  await checkAsync(
    fc.asyncProperty(body, async (request) => {
      const parsed = readable(request);
      if (parsed === null) return;
      for (const { dialect, model } of all) {
        try {
          const exchange = await dialect.encode(parsed, destinationOf(model));
          encoded += 1;
          const sent = JSON.parse(exchange.request.body);
          const most =
            sent.max_tokens ?? sent.generationConfig?.maxOutputTokens ?? sent.inferenceConfig?.maxTokens;
          if (parsed.maxTokens !== null && most !== undefined) assert.ok(most <= parsed.maxTokens, `${most}`);
        } catch (error) {
          assert.ok(error instanceof UnsupportedRequest, String((error as Error).stack));
        }
      }
    }),
    { numRuns: 1500 },
  );
  assert.ok(encoded > byTier(15, 200), `${encoded} were put into words`);
});

/** A text that occurs nowhere else. */
const text = fc.uuid();
const textPart = fc.oneof(
  fc.record({ type: fc.constant('text'), text }),
  fc.record({ type: fc.constant('refusal'), refusal: text }),
  fc.record({
    type: fc.constant('thinking'),
    thinking: fc.array(fc.record({ type: fc.constant('text'), text }), { maxLength: 2 }),
  }),
  fc.record({ type: fc.constant('other'), other: fc.record({ deep: fc.array(text, { maxLength: 2 }) }) }),
);
const wordyMessage = fc.record(
  {
    role: fc.constantFrom('system', 'user', 'assistant', 'tool', 'function'),
    content: fc.oneof(text, fc.constant(null), fc.array(textPart, { maxLength: 3 })),
    name: text,
    refusal: text,
    reasoning: text,
    reasoning_content: text,
    reasoning_details: fc.array(
      fc.record({
        type: fc.constantFrom('reasoning.text', 'reasoning.encrypted', 'reasoning.summary'),
        text,
        summary: text,
        signature: text,
        data: text,
        format: fc.constantFrom('anthropic-claude-v1', 'google-gemini-v1', 'unknown'),
      }),
      { maxLength: 2 },
    ),
    tool_call_id: text,
    tool_calls: fc.array(
      fc.record({
        id: text,
        type: fc.constant('function'),
        function: fc.record({ name: text, arguments: text }),
      }),
      { maxLength: 2 },
    ),
    other: fc.record({ deep: text }),
  },
  { requiredKeys: ['role'] },
);
const wordyBody = fc.record(
  {
    model: fc.constant('a/b'),
    messages: fc.array(wordyMessage, { minLength: 1, maxLength: 4 }),
    tools: fc.array(
      fc.record({
        type: fc.constant('function'),
        function: fc.record({ name: text, description: text, parameters: fc.constant({ type: 'object' }) }),
      }),
      { maxLength: 2 },
    ),
    response_format: fc.record({
      type: fc.constant('json_schema'),
      json_schema: fc.record({ name: text, schema: fc.record({ description: text }) }),
    }),
    chat_template_kwargs: fc.record({ style: text }),
  },
  { requiredKeys: ['model', 'messages'] },
);
const uuids = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

// spec:money/4.8
test('every text that is sent is known to the bound of its tokens', async () => {
  let most = 0;
  await checkAsync(
    fc.asyncProperty(wordyBody, fc.constantFrom(...providerVariants), async (request, variant) => {
      const parsed = readable(request);
      if (parsed === null) return;
      const known = maxTokensOfText(promptText(parsed.input, parsed.parameters));
      for (const { dialect, model } of [...all, { dialect: openaiDialect, model: 'any' }]) {
        try {
          const { request: sent } = await dialect.encode(parsed, { ...destinationOf(model), variant });
          const texts = new Set(sent.body.match(uuids));
          most = Math.max(most, texts.size);
          assert.ok(texts.size * 36 <= known, `${texts.size} texts, but ${known} bytes`);
        } catch (error) {
          if (!(error instanceof UnsupportedRequest)) throw error;
        }
      }
    }),
    { numRuns: 600 },
  );
  assert.ok(most > 10, `${most} texts at most`);
});

function destinationOf(model: string): Destination {
  return {
    model,
    modelId: 'test/model',
    variant: 'generic',
    overrides: {},
    supportedParameters: null,
    maxCompletionTokens: null,
    price: {},
  };
}

function readable(request: object): ReturnType<typeof parseCompletionRequest> | null {
  try {
    return parseCompletionRequest('chat', Buffer.from(JSON.stringify(request)), null);
  } catch (error) {
    assert.ok(error instanceof Refusal);
    return null;
  }
}
