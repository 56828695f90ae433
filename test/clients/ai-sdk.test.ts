/**
 * The AI SDK (`ai` 7) with both of its providers for our API; the same guarantees apply to both.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { createOpenRouter } from '@openrouter/ai-sdk-provider';
import {
  APICallError,
  generateObject,
  generateText,
  jsonSchema,
  type LanguageModel,
  type LanguageModelUsage,
  Output,
  type ProviderMetadata,
  stepCountIs,
  streamText,
  tool,
} from 'ai';
import { type ClientWorld, clientModel, openClientWorld, weather } from '../harness/client-world.ts';
import { piece, reply, usage } from '../harness/upstream.ts';

let world: ClientWorld;
const prompt = '서울 날씨는?';

before(async () => {
  world = await openClientWorld();
});
after(async () => {
  await world?.close();
});

interface Provider {
  readonly name: string;
  readonly model: (apiKey: string) => LanguageModel;
  /** Where this provider shows the cost of a step. */
  readonly costOf: (step: Step) => unknown;
}

interface Step {
  readonly usage: LanguageModelUsage;
  readonly providerMetadata: ProviderMetadata | undefined;
}

const providers: readonly Provider[] = [
  {
    name: '@openrouter/ai-sdk-provider',
    model: (apiKey) => createOpenRouter({ apiKey, baseURL: world.url }).chat(clientModel),
    costOf: ({ providerMetadata }) =>
      (providerMetadata?.['openrouter'] as { usage?: { cost?: unknown } } | undefined)?.usage?.cost,
  },
  {
    name: '@ai-sdk/openai-compatible',
    model: (apiKey) =>
      createOpenAICompatible({
        name: 'naru',
        apiKey,
        baseURL: world.url,
        includeUsage: true,
        supportsStructuredOutputs: true,
      })(clientModel),
    costOf: (step) => step.usage.raw?.['cost'],
  },
];

const schema = jsonSchema<{ celsius: number }>(weather.responseSchema);
const tools = {
  weather: tool({
    description: weather.tool.function.description,
    inputSchema: jsonSchema<{ city: string }>(weather.tool.function.parameters),
    execute: ({ city }) => Promise.resolve(`${city}: 18`),
  }),
};

/** The bodies that the upstream was sent since a count of its requests. */
// biome-ignore lint/suspicious/noExplicitAny: a test looks into bodies as an upstream would.
function sentSince(count: number): readonly any[] {
  return world.upstream.requests.slice(count).map((request) => request.body);
}

for (const { name, model, costOf } of providers) {
  describe(name, () => {
    test('a JSON response has its text, its tokens and the cost in the ledger', async () => {
      const payer = await world.payer();
      world.upstream.next(
        reply.chat('맑음', {
          usage: usage(10, 5, { completion_tokens_details: { reasoning_tokens: 3 } }),
          reasoning: '하늘을 본다',
        }),
      );
      const response = await generateText({
        model: model(payer.key),
        prompt,
        maxRetries: 0,
        temperature: 0.3,
      });
      assert.equal(response.text, '맑음');
      assert.equal(response.reasoningText, '하늘을 본다');
      assert.equal(response.finishReason, 'stop');
      assert.equal(response.usage.inputTokens, 10);
      assert.equal(response.usage.outputTokens, 5);
      assert.equal(response.usage.totalTokens, 15);
      assert.equal(response.usage.outputTokenDetails.reasoningTokens, 3);
      assert.equal(response.response.modelId, clientModel);
      assert.match(response.response.id, /^gen-/);
      assert.equal(costOf(response.finalStep), 20);
      await payer.charged(20);
    });

    test('a stream has its text, its reasoning, its tokens and the cost in the ledger', async () => {
      const payer = await world.payer();
      world.upstream.next(
        reply.stream([{ reasoning: '하늘을 ' }, { reasoning: '본다' }, '맑', '음'], { usage: usage(10, 5) }),
      );
      const response = streamText({ model: model(payer.key), prompt, maxRetries: 0 });
      const pieces = await Array.fromAsync(response.textStream);
      assert.deepEqual(pieces.filter(Boolean), ['맑', '음']);
      assert.equal(await response.reasoningText, '하늘을 본다');
      assert.equal(await response.finishReason, 'stop');
      assert.equal((await response.usage).totalTokens, 15);
      assert.equal(costOf(await response.finalStep), 20);
      await payer.charged(20);
    });

    test('an object with a schema is requested and parsed', async () => {
      const payer = await world.payer();
      const count = world.upstream.requests.length;
      world.upstream.next(
        reply.chat('{"celsius":18}', { usage: usage(10, 5) }),
        reply.chat('{"celsius":19}', { usage: usage(10, 6) }),
        reply.chat(['{"cels', 'ius":20}'], { usage: usage(10, 7) }),
      );
      const request = { model: model(payer.key), prompt, maxRetries: 0 };
      const object = await generateObject({ ...request, schema });
      assert.deepEqual(object.object, { celsius: 18 });
      const whole = await generateText({ ...request, output: Output.object({ schema }) });
      assert.deepEqual(whole.output, { celsius: 19 });
      const streamed = streamText({ ...request, output: Output.object({ schema }) });
      assert.deepEqual((await Array.fromAsync(streamed.partialOutputStream)).at(-1), { celsius: 20 });
      for (const sent of sentSince(count)) {
        assert.equal(sent.response_format.type, 'json_schema');
        assert.deepEqual(sent.response_format.json_schema.schema, weather.responseSchema);
      }
      await payer.charged(20, 22, 24);
    });

    test('tools are called and their results returned, as JSON and streamed, and every step is billed', async () => {
      for (const isStreamed of [false, true]) {
        const payer = await world.payer();
        const count = world.upstream.requests.length;
        const call = isStreamed
          ? reply.stream(piece.tool(0, 'weather', '{"city":', '"Seoul"}'), {
              finish: 'tool_calls',
              usage: usage(20, 8),
            })
          : reply.whole(null, { toolCalls: [weather.call], usage: usage(20, 8) });
        world.upstream.next(call, reply.chat('18도', { usage: usage(30, 2) }));
        const request = { model: model(payer.key), prompt, tools, stopWhen: stepCountIs(3), maxRetries: 0 };
        const response = isStreamed ? streamText(request) : await generateText(request);
        assert.equal(await response.text, '18도');
        const steps = await response.steps;
        assert.deepEqual(
          steps.map((step) => step.finishReason),
          ['tool-calls', 'stop'],
        );
        assert.deepEqual(steps[0]?.toolCalls[0]?.input, { city: 'Seoul' });
        assert.deepEqual(steps.map(costOf), [36, 34]);
        const [first, second] = sentSince(count);
        assert.deepEqual(first.tools[0].function.parameters, weather.tool.function.parameters);
        assert.partialDeepStrictEqual(second.messages.slice(1), [
          {
            role: 'assistant',
            tool_calls: [{ type: 'function', function: { name: 'weather', arguments: '{"city":"Seoul"}' } }],
          },
          { role: 'tool', content: 'Seoul: 18' },
        ]);
        assert.equal(second.messages[2].tool_call_id, second.messages[1].tool_calls[0].id);
        await payer.charged(36, 34);
      }
    });

    test('an error in the middle of a stream is an error part after the text, and costs nothing', async () => {
      const payer = await world.payer();
      world.upstream.next(reply.stream(['맑', piece.error(500, 'overloaded'), '음']));
      const seen: unknown[] = [];
      const response = streamText({
        model: model(payer.key),
        prompt,
        maxRetries: 0,
        onError: ({ error }) => void seen.push(error),
      });
      const parts = await Array.fromAsync(response.fullStream);
      const text = parts.flatMap((part) => (part.type === 'text-delta' ? part.text : []));
      assert.equal(text.join(''), '맑');
      assert.ok(parts.some((part) => part.type === 'error'));
      assert.equal(seen.length, 1);
      assert.match(JSON.stringify(seen[0]) + String(seen[0]), /The upstream failed during its response/);
      await payer.charged();
    });

    test('leaving a stream stops the upstream and bills the generated text', async () => {
      const payer = await world.payer();
      const count = world.upstream.requests.length;
      world.upstream.next(reply.stream(['맑', '음', { waitMs: 60_000 }, '!']));
      const leaving = new AbortController();
      const response = streamText({
        model: model(payer.key),
        prompt,
        maxRetries: 0,
        abortSignal: leaving.signal,
      });
      let text = '';
      for await (const part of response.fullStream) {
        if (part.type === 'text-delta') text += part.text;
        if (text === '맑음') leaving.abort();
      }
      const request = await world.upstream.request(count + 1);
      await request.aborted;
      await payer.chargedForLeaving();
    });

    test('a failure is an APICallError with our body, and only some may be retried', async () => {
      const payer = await world.payer();
      const poor = await world.payer({ credit: '0' });
      const refusal = await failureOf(() =>
        generateText({ model: model('sk-naru-nobody'), prompt, maxRetries: 2 }),
      );
      assert.deepEqual([refusal.statusCode, refusal.isRetryable], [401, false]);
      const broke = await failureOf(() => generateText({ model: model(poor.key), prompt, maxRetries: 2 }));
      assert.deepEqual([broke.statusCode, broke.isRetryable], [402, false]);
      assert.equal(errorTypeOf(broke), 'insufficient_credits');
      world.upstream.next(reply.status(500));
      const failed = await failureOf(() => generateText({ model: model(payer.key), prompt, maxRetries: 0 }));
      assert.deepEqual([failed.statusCode, failed.isRetryable], [502, true]);
      assert.match(failed.message, /Every upstream call failed/);
      assert.equal(errorTypeOf(failed), 'provider_error');
      await payer.charged();
    });
  });
}

async function failureOf(attempt: () => Promise<unknown>): Promise<APICallError> {
  try {
    await attempt();
  } catch (error) {
    if (APICallError.isInstance(error)) return error;
    throw error;
  }
  return assert.fail('no failure');
}

function errorTypeOf(error: APICallError): unknown {
  return JSON.parse(error.responseBody ?? '{}').error?.metadata?.error_type;
}

test('the completion model of the provider continues a text', async () => {
  const payer = await world.payer();
  world.upstream.next(
    reply.chat(' 흐른다', { usage: usage(10, 5) }),
    reply.stream([' 흐', '른다'], { usage: usage(10, 6) }),
  );
  const model = createOpenAICompatible({
    name: 'naru',
    apiKey: payer.key,
    baseURL: world.url,
    includeUsage: true,
  }).completionModel(clientModel);
  const whole = await generateText({ model, prompt: '강은', maxRetries: 0 });
  assert.equal(whole.text, ' 흐른다');
  assert.equal(whole.usage.totalTokens, 15);
  const streamed = streamText({ model, prompt: '강은', maxRetries: 0 });
  assert.equal(await streamed.text, ' 흐른다');
  assert.equal((await streamed.usage).totalTokens, 16);
  await payer.charged(20, 22);
});
