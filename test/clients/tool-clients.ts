import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { createOpenRouter } from '@openrouter/ai-sdk-provider';
import { OpenRouter } from '@openrouter/sdk';
import type { ChatRequest } from '@openrouter/sdk/models';
import { generateText, jsonSchema, type LanguageModel, stepCountIs, streamText, tool } from 'ai';
import OpenAI from 'openai';
import { weather } from '../harness/client-world.ts';
import type { Setting } from '../works-with/client.ts';

/** What a program asks. */
export const prompt = '서울 날씨는?';
const tools = [weather.tool];
/** Every client requests that the model thinks. */
const effort = 'medium' as const;

/** Fields in which upstreams send their reasoning, and require it back. */
export type ReasoningField = 'reasoning_content' | 'reasoning' | 'reasoning_details';

/** How a client continues until the model calls no more tools. Resolves with the response. */
export interface ToolClient {
  readonly name: string;
  readonly run: (to: Setting, stream: boolean) => Promise<string | null | undefined>;
  /** Whether it has streams of its own. */
  readonly streams: boolean;
  /** Fields that the client does not return, by its own nature. */
  readonly lacks?: readonly ReasoningField[];
}

function aiSdk(
  name: string,
  model: (to: Setting) => LanguageModel,
  lacks: ToolClient['lacks'] = [],
): ToolClient {
  return {
    name,
    lacks,
    streams: true,
    async run(to, stream) {
      const request = {
        model: model(to),
        prompt,
        tools: {
          weather: tool({
            inputSchema: jsonSchema<{ city: string }>(weather.tool.function.parameters),
            execute: () => Promise.resolve('18'),
          }),
        },
        stopWhen: stepCountIs(4),
        maxRetries: 0,
        providerOptions: { naru: { reasoningEffort: effort } },
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
export function openai(fields: readonly string[], lacks: ToolClient['lacks'] = []): ToolClient {
  return {
    name: `openai, with ${fields.join(' and ')}`,
    lacks,
    streams: true,
    async run({ url, key, model }, stream) {
      const client = new OpenAI({ apiKey: key, baseURL: url, maxRetries: 0 });
      const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: prompt }];
      for (;;) {
        const request = { model, messages, tools, reasoning_effort: effort };
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

type Json = Readonly<Record<string, unknown>>;

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
const openrouterSdk: ToolClient = {
  name: '@openrouter/sdk',
  streams: false,
  async run({ url, key, model }) {
    const sdk = new OpenRouter({ apiKey: key, serverURL: url, retryConfig: { strategy: 'none' } });
    const messages: ChatRequest['messages'] = [{ role: 'user', content: prompt }];
    for (;;) {
      const response = await sdk.chat.send({
        chatRequest: { model, messages, tools, reasoning: { effort }, stream: false },
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

/** The clients of npm that continue by themselves, or in a few lines as programs do it. */
export const toolClients: readonly ToolClient[] = [
  openai(['reasoning_content'], ['reasoning_details']),
  openai(['reasoning'], ['reasoning_details']),
  openai(['reasoning_details']),
  openai(['reasoning', 'reasoning_content', 'reasoning_details']),
  aiSdk('@openrouter/ai-sdk-provider', ({ url, key, model }) =>
    createOpenRouter({ apiKey: key, baseURL: url }).chat(model, { reasoning: { effort } }),
  ),
  aiSdk(
    '@ai-sdk/openai-compatible',
    ({ url, key, model }) => createOpenAICompatible({ name: 'naru', apiKey: key, baseURL: url })(model),
    ['reasoning_details'],
  ),
  openrouterSdk,
];
