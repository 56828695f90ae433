/**
 * The official SDK of OpenRouter, `@openrouter/sdk`, which validates every response strictly:
 * conversations.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { OpenRouter } from '@openrouter/sdk';
import type { ChatRequest, ChatResult, ChatStreamChunk } from '@openrouter/sdk/models';
import * as errors from '@openrouter/sdk/models/errors';
import { type ClientWorld, clientModel, openClientWorld, weather } from '../harness/client-world.ts';
import { eventually } from '../harness/until.ts';
import { piece, reply, usage } from '../harness/upstream.ts';

let world: ClientWorld;
const messages: ChatRequest['messages'] = [{ role: 'user', content: '서울 날씨는?' }];

const picture = { type: 'image_url', imageUrl: { url: 'data:image/png;base64,iVBORw0KGgo=' } } as const;

before(async () => {
  world = await openClientWorld();
});
after(async () => {
  await world?.close();
});

function sdkWith(apiKey: string): OpenRouter {
  return new OpenRouter({
    apiKey,
    serverURL: world.url,
    retryConfig: { strategy: 'none' },
    timeoutMs: 10_000,
    httpReferer: 'https://app.example',
    appTitle: 'SDK test',
  });
}

async function whole(key: string, request: Partial<ChatRequest> = {}): Promise<ChatResult> {
  const chatRequest = { model: clientModel, messages, ...request, stream: false } as const;
  const result = await sdkWith(key).chat.send({ chatRequest });
  assert.ok('choices' in result);
  return result;
}

async function streamed(
  key: string,
  request: Partial<ChatRequest> = {},
): Promise<readonly ChatStreamChunk[]> {
  const chatRequest = { model: clientModel, messages, ...request, stream: true } as const;
  const result = await sdkWith(key).chat.send({ chatRequest });
  assert.ok(!('choices' in result));
  return Array.fromAsync(result);
}

test('a JSON response parses, and its cost is in the ledger', async () => {
  const payer = await world.payer();
  world.upstream.next(reply.chat('맑음', { usage: usage(10, 5), reasoning: '하늘을 본다' }));
  const response = await whole(payer.key, { temperature: 0.5, maxCompletionTokens: 50, seed: 7 });
  const [choice] = response.choices;
  assert.equal(choice?.message.content, '맑음');
  assert.equal(choice?.message.reasoning, '하늘을 본다');
  assert.equal(choice?.finishReason, 'stop');
  assert.equal(response.model, clientModel);
  assert.deepEqual(
    [response.usage?.promptTokens, response.usage?.completionTokens, response.usage?.totalTokens],
    [10, 5, 15],
  );
  assert.equal(response.usage?.cost, 20);
  assert.equal(response.usage?.costDetails?.upstreamInferencePromptCost, 10);
  await payer.charged(20);
});

test('a stream parses chunk by chunk and ends with usage whose cost is in the ledger', async () => {
  const payer = await world.payer();
  world.upstream.next(
    reply.stream([{ reasoning: '하늘을 ' }, { reasoning: '본다' }, '맑', '음'], { usage: usage(10, 5) }),
  );
  const chunks = await streamed(payer.key);
  const deltas = chunks.flatMap((chunk) => chunk.choices.map((choice) => choice.delta));
  assert.equal(deltas.map((delta) => delta.content ?? '').join(''), '맑음');
  assert.equal(deltas.map((delta) => delta.reasoning ?? '').join(''), '하늘을 본다');
  assert.deepEqual(
    chunks.flatMap((chunk) => chunk.choices[0]?.finishReason ?? []),
    ['stop'],
  );
  assert.equal(chunks.at(-1)?.usage?.cost, 20);
  assert.equal(chunks.at(-1)?.usage?.totalTokens, 15);
  await payer.charged(20);
});

test('a tool call is returned, its result is sent, and both responses are billed', async () => {
  const payer = await world.payer();
  world.upstream.next(reply.whole(null, { toolCalls: [weather.call], usage: usage(20, 8) }));
  const tools = [weather.tool];
  const first = await whole(payer.key, { tools, toolChoice: 'auto', parallelToolCalls: false });
  const message = first.choices[0]?.message;
  assert.ok(message !== undefined);
  assert.equal(first.choices[0]?.finishReason, 'tool_calls');
  assert.deepEqual(
    message.toolCalls?.map((call) => [call.id, call.function.name, call.function.arguments]),
    [[weather.call.id, 'weather', weather.call.function.arguments]],
  );
  world.upstream.next(reply.chat('18도', { usage: usage(30, 2) }));
  const second = await whole(payer.key, {
    messages: [...messages, message, { role: 'tool', toolCallId: weather.call.id, content: '18' }],
    tools,
  });
  assert.equal(second.choices[0]?.message.content, '18도');
  const sent = (await world.upstream.request(world.upstream.requests.length)).body as {
    readonly messages: readonly object[];
    readonly tools: readonly object[];
  };
  assert.partialDeepStrictEqual(sent.messages, [
    { role: 'user' },
    { role: 'assistant', tool_calls: [weather.call] },
    { role: 'tool', tool_call_id: weather.call.id, content: '18' },
  ]);
  assert.deepEqual(sent.tools, tools);
  await payer.charged(36, 34);
});

test('a streamed tool call parses delta by delta', async () => {
  const payer = await world.payer();
  const pieces = piece.tool(0, 'weather', '{"city":', '"Seoul"}');
  world.upstream.next(reply.stream(pieces, { finish: 'tool_calls', usage: usage(20, 8) }));
  const chunks = await streamed(payer.key, { tools: [weather.tool] });
  const calls = chunks.flatMap((chunk) => chunk.choices[0]?.delta.toolCalls ?? []);
  assert.equal(calls[0]?.function?.name, 'weather');
  assert.equal(calls.map((call) => call.function?.arguments ?? '').join(''), '{"city":"Seoul"}');
  assert.ok(chunks.some((chunk) => chunk.choices[0]?.finishReason === 'tool_calls'));
  assert.equal(chunks.at(-1)?.usage?.cost, 36);
  await payer.charged(36);
});

test('JSON with a schema reaches the upstream and returns as content', async () => {
  const payer = await world.payer();
  world.upstream.next(reply.chat('{"celsius":18}', { usage: usage(10, 5) }));
  const response = await whole(payer.key, {
    responseFormat: {
      type: 'json_schema',
      jsonSchema: { name: 'weather', strict: true, schema: weather.responseSchema },
    },
  });
  assert.equal(response.choices[0]?.message.content, '{"celsius":18}');
  const sent = (await world.upstream.request(world.upstream.requests.length)).body;
  assert.deepEqual(sent['response_format'], {
    type: 'json_schema',
    json_schema: { name: 'weather', strict: true, schema: weather.responseSchema },
  });
  await payer.charged(20);
});

test('reasoning details are returned and accepted unchanged', async () => {
  const payer = await world.payer();
  const details = [
    { type: 'reasoning.text', text: '하늘', format: 'anthropic-claude-v1', signature: 'c2ln', index: 0 },
  ];
  world.upstream.next(
    reply.stream([{ delta: { reasoning_details: details } }, '맑음'], { usage: usage(10, 5) }),
    reply.chat('네', { usage: usage(20, 1) }),
  );
  const chunks = await streamed(payer.key, { reasoning: { effort: 'high' } });
  const reasoningDetails = chunks.flatMap((chunk) => chunk.choices[0]?.delta.reasoningDetails ?? []);
  assert.partialDeepStrictEqual(reasoningDetails, details);
  await whole(payer.key, {
    messages: [...messages, { role: 'assistant', content: '맑음', reasoningDetails }, ...messages],
  });
  const [first, second] = world.upstream.requests.slice(-2).map((request) => request.body);
  assert.deepEqual(first?.['reasoning'], { effort: 'high' });
  assert.partialDeepStrictEqual(second?.['messages'], [{}, { reasoning_details: details }, {}]);
  await payer.charged(20, 22);
});

test('a client that retries a failed upstream is billed for the response only', async () => {
  const payer = await world.payer();
  world.upstream.next(reply.status(500), reply.status(429), reply.chat('맑음', { usage: usage(10, 5) }));
  const backoff = { initialInterval: 5, maxInterval: 20, exponent: 1.5, maxElapsedTime: 10_000 };
  const { requestCount: count } = world;
  const response = await sdkWith(payer.key).chat.send(
    { chatRequest: { model: clientModel, messages } },
    { retries: { strategy: 'backoff', backoff } },
  );
  assert.ok('choices' in response);
  assert.equal(response.choices[0]?.message.content, '맑음');
  assert.equal(world.requestCount, count + 3);
  await payer.charged(20);
});

test('an error in the middle of a stream is a chunk with an error, and costs nothing', async () => {
  for (const [broken, code] of [
    [reply.stream(['맑', piece.error(500, 'overloaded'), '음']), '500'],
    // What broke off had begun with a 200.
    [reply.stream(['맑', '음'], { finish: null, done: false }), '200'],
  ] as const) {
    const payer = await world.payer();
    world.upstream.next(broken);
    const chunks = await streamed(payer.key);
    const last = chunks.at(-1);
    assert.equal(last?.error?.code, 502);
    assert.equal(last?.error?.metadata?.errorType, 'provider_error');
    assert.equal(last?.error?.metadata?.providerCode, code);
    assert.equal(last?.choices[0]?.finishReason, 'error');
    await payer.charged();
  }
});

test('a client that leaves a stream is billed for the generated text, and can read the record', async () => {
  const payer = await world.payer();
  world.upstream.next(reply.stream(['맑', '음', { waitMs: 60_000 }, '!'], { usageOn: 'always' }));
  const sdk = sdkWith(payer.key);
  const request = { chatRequest: { model: clientModel, messages, stream: true } } as const;
  const result = await sdk.chat.send(request);
  assert.ok(!('choices' in result));
  let id = '';
  // The end of the loop closes the connection. An abort of `fetch` does not always: its signal may
  // be collected while the body is read.
  for await (const chunk of result) {
    id = chunk.id;
    if (chunk.choices[0]?.delta.content === '음') break;
  }
  const { data } = await recordOf(sdk, id);
  assert.equal(data.cancelled, true);
  assert.ok(data.totalCost > 0);
  await payer.charged(data.totalCost);
});

/** A record exists once its response has ended; that of a client that left ends without it. */
async function recordOf(sdk: OpenRouter, id: string) {
  return eventually('the record', 20_000, async () => {
    try {
      return await sdk.generations.getGeneration({ id });
    } catch (error) {
      if (!(error instanceof errors.NotFoundResponseError)) throw error;
      return null;
    }
  });
}

test('every failure is the typed error of its status', async () => {
  const rich = await world.payer();
  const poor = await world.payer({ credit: '0' });
  const tight = await world.payer({ limit: '0' });
  const { upstream } = world;
  const cases: readonly (readonly [() => Promise<unknown>, { prototype: Error }, number, string])[] = [
    [() => whole(rich.key, { messages: [] }), errors.BadRequestResponseError, 400, 'invalid_request'],
    [() => whole(rich.key, { model: 'no/such' }), errors.BadRequestResponseError, 400, 'model_not_found'],
    [() => whole('sk-naru-nobody'), errors.UnauthorizedResponseError, 401, 'invalid_api_key'],
    [() => whole(poor.key), errors.PaymentRequiredResponseError, 402, 'insufficient_credits'],
    [() => streamed(tight.key), errors.PaymentRequiredResponseError, 402, 'key_limit_exceeded'],
    [
      () => whole(rich.key, { messages: [{ role: 'user', content: [picture] }] }),
      errors.NotFoundResponseError,
      404,
      'no_endpoints_found',
    ],
    [
      () => {
        upstream.next(reply.status(500));
        return whole(rich.key);
      },
      errors.BadGatewayResponseError,
      502,
      'provider_error',
    ],
  ];
  for (const [attempt, kind, status, errorType] of cases) {
    await assert.rejects(attempt, (error) => {
      assert.ok(error instanceof errors.OpenRouterError, String(error));
      assert.equal(Object.getPrototypeOf(error), kind.prototype, `${status}: ${error.name}`);
      assert.equal(error.statusCode, status);
      assert.equal(JSON.parse(error.body).error.metadata.error_type, errorType);
      return true;
    });
  }
  await rich.charged();
});
