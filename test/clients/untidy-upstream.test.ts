/**
 * An upstream's untidy response, with misplaced nulls and unknown members, is tidied for every
 * client.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { ChatOpenAI } from '@langchain/openai';
import { ChatOpenRouter } from '@langchain/openrouter';
import { createOpenRouter } from '@openrouter/ai-sdk-provider';
import { OpenRouter } from '@openrouter/sdk';
import { generateText, streamText } from 'ai';
import OpenAI from 'openai';
import { type ClientWorld, clientModel, openClientWorld } from '../harness/client-world.ts';
import { reply, usage } from '../harness/upstream.ts';

let world: ClientWorld;
const prompt = '서울 날씨는?';
const messages = [{ role: 'user' as const, content: prompt }];
const counted = {
  prompt_tokens: 10,
  completion_tokens: 5,
  total_tokens: 15,
  prompt_tokens_details: { cached_tokens: null, audio_tokens: null },
  completion_tokens_details: null,
  cost: '0.00042',
  queue_time: 0.1,
};
const nulls = {
  tool_calls: null,
  function_call: null,
  reasoning: null,
  reasoning_content: null,
  reasoning_details: null,
  images: null,
  audio: null,
  annotations: null,
};
const envelope = {
  id: null,
  model: 'their-name',
  created: 1_795_219_200.25,
  system_fingerprint: null,
  service_tier: null,
  x_groq: { id: 'req_1' },
};

const untidyWhole = reply.json({
  ...envelope,
  object: 'chat.completion',
  error: null,
  choices: [
    { message: { role: null, content: '맑음', ...nulls }, finish_reason: 'eos', content_filter_results: {} },
  ],
  usage: counted,
});

function chunk(delta: object | null, more: object = {}): { readonly chunk: object } {
  const choices = [{ index: 0, delta, finish_reason: null, logprobs: null }];
  return {
    chunk: { ...envelope, object: 'chat.completion.chunk', error: null, usage: null, choices, ...more },
  };
}

const untidyStream = reply.stream(
  [
    chunk({}, { choices: [], prompt_filter_results: [] }),
    chunk({ role: null, content: null, ...nulls }),
    chunk({ content: '맑', ...nulls, tool_calls: [] }),
    chunk({ role: 'assistant', content: '음', refusal: null }),
    chunk({}, { choices: [{ index: 0, delta: {}, finish_reason: 'eos' }] }),
    chunk({}, { choices: [], usage: counted }),
  ],
  { role: false, finish: null, usage: null },
);

const endlessWhole = reply.whole('맑음', { finish: null, usage: usage(10, 5) });
const endlessStream = reply.stream(['맑', '음'], { finish: null, usage: usage(10, 5) });

interface Client {
  readonly name: string;
  readonly whole: (apiKey: string) => Promise<unknown>;
  readonly streamed: (apiKey: string) => Promise<unknown>;
}

/** Both texts as each client gives them. */
const clients: readonly Client[] = [
  {
    name: '@openrouter/sdk',
    whole: async (apiKey) => {
      const response = await sdkWith(apiKey).chat.send({ chatRequest: { model: clientModel, messages } });
      return 'choices' in response ? response.choices[0]?.message.content : null;
    },
    streamed: async (apiKey) => {
      const chatRequest = { model: clientModel, messages, stream: true } as const;
      const response = await sdkWith(apiKey).chat.send({ chatRequest });
      if ('choices' in response) return null;
      return (await Array.fromAsync(response)).map((each) => each.choices[0]?.delta.content ?? '').join('');
    },
  },
  {
    name: 'openai',
    whole: async (apiKey) => {
      const response = await openaiWith(apiKey).chat.completions.create({ model: clientModel, messages });
      return response.choices[0]?.message.content;
    },
    streamed: (apiKey) =>
      openaiWith(apiKey).chat.completions.stream({ model: clientModel, messages }).finalContent(),
  },
  ...[
    {
      name: '@openrouter/ai-sdk-provider',
      model: (apiKey: string) => createOpenRouter({ apiKey, baseURL: world.url }).chat(clientModel),
    },
    {
      name: '@ai-sdk/openai-compatible',
      model: (apiKey: string) =>
        createOpenAICompatible({ name: 'naru', apiKey, baseURL: world.url })(clientModel),
    },
  ].map(({ name, model }) => ({
    name,
    whole: async (apiKey: string) =>
      (await generateText({ model: model(apiKey), prompt, maxRetries: 0 })).text,
    streamed: async (apiKey: string) => {
      const response = streamText({ model: model(apiKey), prompt, maxRetries: 0 });
      const parts = await Array.fromAsync(response.fullStream);
      assert.ok(!parts.some((part) => part.type === 'error'), JSON.stringify(parts));
      return response.text;
    },
  })),
  ...[
    {
      name: '@langchain/openai',
      model: (apiKey: string) =>
        new ChatOpenAI({
          model: clientModel,
          apiKey,
          maxRetries: 0,
          configuration: { baseURL: world.url },
        }),
    },
    {
      name: '@langchain/openrouter',
      model: (apiKey: string) =>
        new ChatOpenRouter({ model: clientModel, apiKey, maxRetries: 0, baseURL: world.url }),
    },
  ].map(({ name, model }) => ({
    name,
    whole: async (apiKey: string) => (await model(apiKey).invoke(prompt)).content,
    streamed: async (apiKey: string) =>
      (await Array.fromAsync(await model(apiKey).stream(prompt))).map((each) => each.content).join(''),
  })),
];

function sdkWith(apiKey: string): OpenRouter {
  return new OpenRouter({ apiKey, serverURL: world.url, retryConfig: { strategy: 'none' } });
}

function openaiWith(apiKey: string): OpenAI {
  return new OpenAI({ apiKey, baseURL: world.url, maxRetries: 0 });
}

before(async () => {
  world = await openClientWorld();
});
after(async () => {
  await world?.close();
});

for (const { name, whole, streamed } of clients) {
  describe(name, () => {
    test('an untidy JSON response is parsed and billed', async () => {
      const payer = await world.payer();
      world.upstream.next(untidyWhole);
      assert.equal(await whole(payer.key), '맑음');
      await payer.charged(20);
    });

    test('a response without a finish reason is parsed and billed', async () => {
      const payer = await world.payer();
      world.upstream.next(endlessWhole, endlessStream);
      assert.deepEqual([await whole(payer.key), await streamed(payer.key)], ['맑음', '맑음']);
      await payer.charged(20, 20);
    });

    test('an untidy stream is parsed and billed', async () => {
      const payer = await world.payer();
      world.upstream.next(untidyStream);
      assert.equal(await streamed(payer.key), '맑음');
      await payer.charged(20);
    });
  });
}
