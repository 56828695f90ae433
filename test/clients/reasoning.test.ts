/**
 * A model's reasoning returns to an upstream that rejects a conversation without it, by every
 * client and in every field.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { createOpenRouter } from '@openrouter/ai-sdk-provider';
import { OpenRouter } from '@openrouter/sdk';
import type { ChatRequest } from '@openrouter/sdk/models';
import { generateText, jsonSchema, type LanguageModel, stepCountIs, streamText, tool } from 'ai';
import OpenAI from 'openai';
import { type ClientWorld, clientModel, openClientWorld, weather } from '../harness/client-world.ts';
import { reply, usage } from '../harness/upstream.ts';

let world: ClientWorld;
before(async () => {
  world = await openClientWorld();
});
after(async () => {
  await world?.close();
});

type Json = Readonly<Record<string, unknown>>;

const prompt = '서울 날씨는?';
const tools = [weather.tool];
/** In pieces that split words, lines and a grapheme cluster. */
const thoughts: readonly (readonly string[])[] = [
  ['사용자는 ', '"날씨"를\r\n', '묻는다.\t\\', ' 👩', '\u200d👧 e', '\u0301 \u2028', '  '],
  ['\n두 번째', ' <think>', '…</think> ', '\u0000 끝 '],
  ['이제 ', '답한다.'],
];
const last = thoughts.length - 1;

/** Fields in which upstreams send their reasoning, and require it back. */
const spoken = {
  reasoning_content: textual('reasoning_content'),
  reasoning: textual('reasoning'),
  reasoning_details: {
    streamed: (turn: number) => [
      ...pieces(turn).map((text) => ({ reasoning: text, reasoning_details: [entry(text)] })),
      { reasoning_details: [{ ...entry(undefined), signature: `c2ln${turn}==` }] },
      { reasoning_details: [encrypted(turn)] },
    ],
    whole: (turn: number) => ({ reasoning: textOf(turn), reasoning_details: entries(turn) }),
    isReturned: (message: Json, turn: number) =>
      JSON.stringify(sorted(message['reasoning_details'])) === JSON.stringify(sorted(entries(turn))),
  },
} as const;

function textual(field: string) {
  return {
    streamed: (turn: number): readonly object[] => pieces(turn).map((text) => ({ [field]: text })),
    whole: (turn: number): object => ({ [field]: textOf(turn) }),
    isReturned: (message: Json, turn: number): boolean => message[field] === textOf(turn),
  };
}

function pieces(turn: number): readonly string[] {
  return thoughts[turn] ?? [];
}

function textOf(turn: number): string {
  return pieces(turn).join('');
}

function entry(text: string | undefined): object {
  return {
    type: 'reasoning.text',
    ...(text === undefined ? {} : { text }),
    format: 'anthropic-claude-v1',
    index: 0,
  };
}

function encrypted(turn: number): object {
  const data = Buffer.from(`sealed ${turn}`).toString('base64');
  return { type: 'reasoning.encrypted', data, id: `rs_${turn}`, format: 'anthropic-claude-v1', index: 1 };
}

function entries(turn: number): readonly object[] {
  return [{ ...entry(textOf(turn)), signature: `c2ln${turn}==` }, encrypted(turn)];
}

/** Members of objects in the order of their names: a client may write them in another. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, inner]) => [name, sorted(inner)]),
  );
}

function callOf(turn: number): object {
  return {
    id: `call_${turn}`,
    type: 'function',
    function: { name: 'weather', arguments: `{"city":"Seoul${turn}"}` },
  };
}

/**
 * Reasons and calls a tool in each turn but the last; rejects, as DeepSeek does, messages with
 * calls that lack their reasoning.
 */
function insist(field: keyof typeof spoken, { streamsAlways = false } = {}): void {
  const { streamed, whole, isReturned } = spoken[field];
  world.upstream.respond(({ body }) => {
    const messages = body['messages'] as readonly Json[];
    const called = messages.filter((message) => Array.isArray(message['tool_calls']));
    if (called.some((message, turn) => !isReturned(message, turn))) {
      const message = `The \`${field}\` in the thinking mode must be passed back to the API.`;
      return reply.status(400, { error: { message, type: 'invalid_request_error', param: null } });
    }
    const turn = called.length;
    const calls = turn < last ? { tool_calls: [{ index: 0, ...callOf(turn) }] } : { content: '18도' };
    const finish = turn < last ? 'tool_calls' : 'stop';
    if (streamsAlways || body['stream'] === true)
      return reply.stream(
        [...streamed(turn), calls].map((delta) => ({ delta })),
        { finish },
      );
    const message = { role: 'assistant', content: null, ...whole(turn), ...calls };
    return reply.whole(null, { over: { choices: [{ index: 0, message, finish_reason: finish }] } });
  });
}

/** How a client continues until the model calls no more tools. Resolves with the response. */
interface Client {
  readonly name: string;
  readonly run: (key: string, stream: boolean) => Promise<string | null | undefined>;
  /** Fields that the client does not return, by its own nature. */
  readonly lacks?: readonly (keyof typeof spoken)[];
}

function aiSdk(name: string, model: (apiKey: string) => LanguageModel, lacks: Client['lacks'] = []): Client {
  return {
    name,
    lacks,
    async run(key, stream) {
      const request = {
        model: model(key),
        prompt,
        tools: {
          weather: tool({
            inputSchema: jsonSchema<{ city: string }>(weather.tool.function.parameters),
            execute: () => Promise.resolve('18'),
          }),
        },
        stopWhen: stepCountIs(thoughts.length + 1),
        maxRetries: 0,
      };
      if (!stream) return (await generateText(request)).text;
      const failed: unknown[] = [];
      const response = streamText({ ...request, onError: ({ error }) => void failed.push(error) });
      await response.consumeStream();
      if (failed.length > 0) throw failed[0];
      return response.text;
    },
  };
}

/** The client of the dialect's owner, in a program that returns these fields of a message. */
function openai(fields: readonly string[], lacks: Client['lacks'] = []): Client {
  return {
    name: `openai, with ${fields.join(' and ')}`,
    lacks,
    async run(key, stream) {
      const client = new OpenAI({ apiKey: key, baseURL: world.url, maxRetries: 0 });
      const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: prompt }];
      for (;;) {
        const request = { model: clientModel, messages, tools };
        const message = stream
          ? folded(
              (await Array.fromAsync(await client.chat.completions.create({ ...request, stream: true }))).map(
                deltaOf,
              ),
            )
          : (await client.chat.completions.create(request)).choices[0]?.message;
        const { role, content, tool_calls: calls } = message as OpenAI.ChatCompletionMessage;
        if (calls === undefined) return content;
        const returned = Object.entries(message as object).filter(([name]) => fields.includes(name));
        const own = { role, content, tool_calls: calls, ...Object.fromEntries(returned) };
        messages.push(
          own,
          ...calls.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: '18' })),
        );
      }
    },
  };
}

function deltaOf(chunk: OpenAI.ChatCompletionChunk): Json {
  return (chunk.choices[0]?.delta ?? {}) as unknown as Json;
}

/**
 * Deltas folded as programs do it: texts are appended, entries of details and arguments of calls
 * joined by their index.
 */
function folded(deltas: readonly Json[]): object {
  const texts: Record<string, string> = {};
  const details: Record<string, unknown>[] = [];
  const calls: { id?: unknown; function: { name?: unknown; arguments: string } }[] = [];
  for (const delta of deltas) {
    for (const name of ['content', 'reasoning', 'reasoning_content']) {
      if (typeof delta[name] === 'string') texts[name] = (texts[name] ?? '') + delta[name];
    }
    for (const detail of (delta['reasoning_details'] ?? []) as Record<string, unknown>[]) {
      const known = details.at(-1);
      if (known === undefined || known['index'] !== detail['index']) details.push({ ...detail });
      else
        Object.assign(
          known,
          detail,
          'text' in detail ? { text: `${known['text'] ?? ''}${detail['text']}` } : {},
        );
    }
    for (const call of (delta['tool_calls'] ?? []) as { index: number; id?: string; function: Json }[]) {
      const known = calls[call.index];
      if (known === undefined) calls[call.index] = { ...call, function: { arguments: '', ...call.function } };
      else known.function.arguments += String(call.function['arguments'] ?? '');
    }
  }
  return {
    role: 'assistant',
    content: null,
    ...texts,
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

/**
 * OpenRouter's own client returns the message that it was given; its streams it leaves to be
 * folded.
 */
const openrouterSdk: Client = {
  name: '@openrouter/sdk',
  async run(key) {
    const sdk = new OpenRouter({ apiKey: key, serverURL: world.url, retryConfig: { strategy: 'none' } });
    const messages: ChatRequest['messages'] = [{ role: 'user', content: prompt }];
    for (;;) {
      const response = await sdk.chat.send({
        chatRequest: { model: clientModel, messages, tools, stream: false },
      });
      const message = 'choices' in response ? response.choices[0]?.message : undefined;
      if (message?.toolCalls === undefined) return message?.content as string;
      messages.push(
        message,
        ...message.toolCalls.map(({ id }) => ({ role: 'tool' as const, toolCallId: id, content: '18' })),
      );
    }
  },
};

const clients: readonly Client[] = [
  openai(['reasoning_content'], ['reasoning_details']),
  openai(['reasoning'], ['reasoning_details']),
  openai(['reasoning_details']),
  openai(['reasoning', 'reasoning_content', 'reasoning_details']),
  aiSdk('@openrouter/ai-sdk-provider', (apiKey) =>
    createOpenRouter({ apiKey, baseURL: world.url }).chat(clientModel),
  ),
  aiSdk(
    '@ai-sdk/openai-compatible',
    (apiKey) => createOpenAICompatible({ name: 'naru', apiKey, baseURL: world.url })(clientModel),
    ['reasoning_details'],
  ),
  openrouterSdk,
];

for (const { name, run, lacks = [] } of clients) {
  describe(name, () => {
    for (const field of Object.keys(spoken) as (keyof typeof spoken)[]) {
      for (const stream of name === '@openrouter/sdk' ? [false] : [false, true]) {
        const refused = lacks.includes(field);
        const what = `thoughts in ${field} ${refused ? 'are not returned' : 'go back byte for byte'}`;
        test(`${what}, ${stream ? 'streamed' : 'whole'}`, async () => {
          const { key } = await world.payer({ credit: '1000000' });
          insist(field);
          if (refused) await assert.rejects(run(key, stream));
          else assert.equal(await run(key, stream), '18도');
        });
      }
    }
  });
}

for (const field of Object.keys(spoken) as (keyof typeof spoken)[]) {
  test(`reasoning in ${field} of an upstream that streams without a request for it is returned byte for byte`, async () => {
    const { key } = await world.payer({ credit: '1000000' });
    insist(field, { streamsAlways: true });
    assert.equal(await openai(['reasoning_details']).run(key, false), '18도');
  });
}

for (const stream of [false, true]) {
  test(`a client that excludes reasoning gets none and pays for it, ${stream ? 'streamed' : 'whole'}`, async () => {
    for (const parameters of [{ reasoning: { exclude: true } }, { include_reasoning: false }]) {
      const payer = await world.payer();
      const pieces = [{ reasoning: '흠.' }, { delta: { reasoning_content: '흠.', content: 'a' } }, 'b'];
      world.upstream.next(
        stream
          ? reply.stream(pieces, {
              usage: usage(10, 50, { completion_tokens_details: { reasoning_tokens: 40 } }),
            })
          : reply.whole('ab', { reasoning: '흠.', usage: usage(10, 50) }),
      );
      const body = {
        model: clientModel,
        messages: [{ role: 'user', content: prompt }],
        stream,
        ...parameters,
      };
      const response = await world.naru.send('POST', '/chat/completions', { key: payer.key, body });
      assert.equal(response.status, 200, response.text);
      assert.doesNotMatch(response.text, /흠|reasoning_content|reasoning_details/);
      const sent = stream
        ? [...response.text.matchAll(/"content":"([^"]+)"/g)].map(([, text]) => text).join('')
        : response.json.choices[0].message.content;
      assert.equal(sent, 'ab');
      await payer.charged(110);
    }
  });
}
