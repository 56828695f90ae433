/** LangChain with both of its chat models for our API, `ChatOpenAI` and `ChatOpenRouter`. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { type AIMessage, type AIMessageChunk, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { ChatOpenRouter } from '@langchain/openrouter';
import { type ClientWorld, clientModel, openClientWorld, weather } from '../harness/client-world.ts';
import { piece, reply, usage } from '../harness/upstream.ts';

let world: ClientWorld;
const question = new HumanMessage('서울 날씨는?');

before(async () => {
  world = await openClientWorld();
});
after(async () => {
  await world?.close();
});

interface Kind {
  readonly name: string;
  readonly model: (apiKey: string, more?: { readonly maxRetries: number }) => ChatOpenAI | ChatOpenRouter;
  /**
   * How this model requests structured output: one of them uses a tool when it does not know the
   * model.
   */
  readonly method: 'jsonSchema' | 'functionCalling';
  /** What this model throws for a status. */
  readonly statusOf: (error: unknown) => unknown;
}

const kinds: readonly Kind[] = [
  {
    name: '@langchain/openai',
    model: (apiKey, more = { maxRetries: 0 }) =>
      new ChatOpenAI({ model: clientModel, apiKey, ...more, configuration: { baseURL: world.url } }),
    method: 'jsonSchema',
    statusOf: (error) => (error as { status?: unknown }).status,
  },
  {
    name: '@langchain/openrouter',
    model: (apiKey, more = { maxRetries: 0 }) =>
      new ChatOpenRouter({ model: clientModel, apiKey, ...more, baseURL: world.url }),
    method: 'functionCalling',
    statusOf: (error) => (error as { statusCode?: unknown }).statusCode,
  },
];

function assertTokens(message: AIMessage | AIMessageChunk, input: number, output: number): void {
  assert.partialDeepStrictEqual(message.usage_metadata, {
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
  });
}

/** The raw usage is kept beside LangChain's own. */
function costOf(message: AIMessage | AIMessageChunk | undefined): unknown {
  return (message?.response_metadata['usage'] as { cost?: unknown } | undefined)?.cost;
}

function sumOf(chunks: readonly AIMessageChunk[]): AIMessageChunk {
  return chunks.reduce((sum, chunk) => sum.concat(chunk));
}

async function joined(stream: AsyncIterable<AIMessageChunk>): Promise<AIMessageChunk> {
  return sumOf(await Array.fromAsync(stream));
}

const callReply = {
  ...weather.call,
  function: { name: 'weather', arguments: '{"celsius":18}' },
};

for (const { name, model, method, statusOf } of kinds) {
  describe(name, () => {
    test('a JSON response has its text and tokens, and the ledger has its cost', async () => {
      const payer = await world.payer();
      world.upstream.next(reply.chat('맑음', { usage: usage(10, 5) }));
      const response = await model(payer.key).invoke([question]);
      assert.equal(response.content, '맑음');
      assertTokens(response, 10, 5);
      assert.equal(response.response_metadata['finish_reason'], 'stop');
      assert.equal(costOf(response), 20);
      await payer.charged(20);
    });

    test('a stream has its text and its tokens once, and the ledger has its cost', async () => {
      const payer = await world.payer();
      world.upstream.next(reply.stream(['맑', '음'], { usage: usage(10, 5) }));
      const chunks = await Array.fromAsync(await model(payer.key).stream([question]));
      const response = sumOf(chunks);
      assert.equal(response.content, '맑음');
      assertTokens(response, 10, 5);
      // Of the last chunk: ChatOpenAI keeps the raw usage of an event that has a choice twice, and
      // would add them.
      assert.equal(costOf(chunks.at(-1)), 20);
      await payer.charged(20);
    });

    test('a bound tool is called and its result returned, as JSON and streamed', async () => {
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
        const bound = (model(payer.key) as BaseChatModel).bindTools?.([weather.tool]);
        assert.ok(bound !== undefined);
        const sent = isStreamed
          ? await joined(await bound.stream([question]))
          : await bound.invoke([question]);
        const [toolCall] = sent.tool_calls ?? [];
        assert.equal(toolCall?.name, 'weather');
        assert.deepEqual(toolCall?.args, { city: 'Seoul' });
        assertTokens(sent, 20, 8);
        const result = new ToolMessage({ tool_call_id: toolCall?.id ?? '', content: '18' });
        const response = await bound.invoke([question, sent, result]);
        assert.equal(response.content, '18도');
        const [first, second] = world.upstream.requests.slice(count).map((request) => request.body);
        assert.partialDeepStrictEqual(first?.['tools'], [weather.tool]);
        assert.partialDeepStrictEqual(second?.['messages'], [
          { role: 'user' },
          {
            role: 'assistant',
            tool_calls: [{ id: toolCall?.id, type: 'function', function: { name: 'weather' } }],
          },
          { role: 'tool', tool_call_id: toolCall?.id, content: '18' },
        ]);
        await payer.charged(36, 34);
      }
    });

    test('a response with a schema is requested and parsed', async () => {
      const payer = await world.payer();
      const count = world.upstream.requests.length;
      world.upstream.next(
        method === 'jsonSchema'
          ? reply.chat('{"celsius":18}', { usage: usage(10, 5) })
          : reply.whole(null, { toolCalls: [callReply], usage: usage(10, 5) }),
      );
      const structured = (model(payer.key) as BaseChatModel).withStructuredOutput(weather.responseSchema, {
        name: 'weather',
        method,
      });
      assert.deepEqual(await structured.invoke([question]), { celsius: 18 });
      assert.partialDeepStrictEqual(
        world.upstream.requests[count]?.body,
        method === 'jsonSchema'
          ? { response_format: { type: 'json_schema', json_schema: { name: 'weather' } } }
          : { tool_choice: { type: 'function', function: { name: 'weather' } } },
      );
      await payer.charged(20);
    });

    test('leaving a stream stops the upstream and bills the generated text', async () => {
      const payer = await world.payer();
      const count = world.upstream.requests.length;
      world.upstream.next(reply.stream(['맑', '음', { waitMs: 60_000 }, '!']));
      const leaving = new AbortController();
      const stream = await model(payer.key).stream([question], { signal: leaving.signal });
      await assert.rejects(async () => {
        for await (const chunk of stream) if (chunk.content === '음') leaving.abort();
        throw new Error('it ended');
      });
      await (await world.upstream.request(count + 1)).aborted;
      await payer.chargedForLeaving();
    });

    test('a failure has its status, and an error that is not retryable is requested once', async () => {
      const payer = await world.payer();
      const poor = await world.payer({ credit: '0' });
      const cases: readonly (readonly [number, () => Promise<unknown>])[] = [
        [401, () => model('sk-naru-nobody', { maxRetries: 2 }).invoke([question])],
        [402, () => model(poor.key, { maxRetries: 2 }).invoke([question])],
        [400, () => model(payer.key, { maxRetries: 2 }).invoke([])],
        [
          502,
          () => {
            world.upstream.next(reply.status(500));
            return model(payer.key).invoke([question]);
          },
        ],
      ];
      for (const [status, attempt] of cases) {
        const { requestCount: count } = world;
        await assert.rejects(attempt, (error) => {
          assert.equal(statusOf(error), status, `${status}: ${error}`);
          return true;
        });
        assert.equal(world.requestCount, count + 1, `${status}`);
      }
      await payer.charged();
    });
  });
}

test('ChatOpenAI throws the error in the middle of a stream, which costs nothing', async () => {
  const payer = await world.payer();
  world.upstream.next(reply.stream(['맑', piece.error(500, 'overloaded'), '음']));
  const [openai] = kinds;
  assert.ok(openai !== undefined);
  const stream = await openai.model(payer.key).stream([question]);
  await assert.rejects(Array.fromAsync(stream), /The upstream failed during its response/);
  await payer.charged();
});

test('ChatOpenRouter, which reads no error inside a stream, gets the finish reason `error`, and it costs nothing', async () => {
  const payer = await world.payer();
  world.upstream.next(reply.stream(['맑', piece.error(500, 'overloaded'), '음']));
  const model = new ChatOpenRouter({
    model: clientModel,
    apiKey: payer.key,
    baseURL: world.url,
    maxRetries: 0,
  });
  const response = await joined(await model.stream([question]));
  assert.equal(response.content, '맑');
  assert.equal(response.response_metadata['finish_reason'], 'error');
  await payer.charged();
});
