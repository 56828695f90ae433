import { reply, usage } from '../harness/upstream.ts';
import { type UpstreamRequest, wantsStream } from '../harness/upstream-openai.ts';
import type { Reply } from '../harness/upstream-reply.ts';
import type { Wire, WireBlock } from '../harness/wire.ts';
import { anthropicWire } from '../harness/wire-anthropic.ts';
import { bedrockWire } from '../harness/wire-bedrock.ts';
import { googleWire } from '../harness/wire-google.ts';
import type { Api } from './judge.ts';
import type { Json } from './rules.ts';

/*
 * Families of models that think and call tools: each in the form of its API, and what a
 * conversation with a thought in it must look like there.
 */

/** What a model generates behind its thought: a call of a tool, or a text. */
export type Output =
  | { readonly call: { readonly name: string; readonly args: object } }
  | { readonly text: string };

/** A family of models. */
export interface Family {
  readonly api: Api;
  /** Its model upstream. */
  readonly model: string;
  readonly provider: (origin: string) => object;
  readonly generates: (output: Output, request: UpstreamRequest) => Reply;
  readonly rejects: (reason: string) => Reply;
  /** The results of tools in a request, oldest first. */
  readonly results: (body: Json) => readonly unknown[];
  /** What of a thought returns from a client that keeps all of it; null where none is sent. */
  readonly mark: string | null;
  /** Why it rejects a conversation beyond the rules of its API; null when it accepts. */
  readonly rule?: (body: Json) => string | null;
}

/** The thought before each call and text, in pieces that split words. */
const thought = ['\n먼저 "날', '씨"를 ', '찾는다.\t\\ '];
const spoken = thought.join('');
const signature = 'c2lnbmVkLWJ5LXRoZS1tb2RlbA==';

const list = (value: unknown): readonly Json[] => (Array.isArray(value) ? (value as readonly Json[]) : []);

/** Every request has a different cost, so that two charges cannot be confused. */
function tokensOf({ n }: UpstreamRequest): { readonly prompt: number; readonly completion: number } {
  return { prompt: 10 + n, completion: 5 + n };
}

/** The cost of a request that a family responded to, in won. */
export function costOf(request: UpstreamRequest): number {
  const { prompt, completion } = tokensOf(request);
  return prompt + 2 * completion;
}

// ---------------------------------------------------------------- APIs like OpenAI's

interface Form extends Pick<Family, 'api' | 'model' | 'mark'> {
  readonly id: string;
  /** The members of a message or delta for a piece of a thought; null where it is not shown. */
  readonly thinks: ((text: string) => Json) | null;
}

function likeOpenai({ id, thinks, ...family }: Form): Family {
  return {
    ...family,
    provider: (origin) => ({
      ...{ dialect: 'openai', variant: family.api, base_url: `${origin}/v1`, api_key: 'family-secret' },
    }),
    rejects: (message) => reply.status(400, { error: { message, type: 'invalid_request_error' } }),
    results: ({ messages }) => list(messages).filter(({ role }) => role === 'tool'),
    generates(output, request) {
      const { prompt, completion } = tokensOf(request);
      const counted = usage(prompt, completion, { completion_tokens_details: { reasoning_tokens: 2 } });
      const calls = 'call' in output ? [callOf(id, output.call)] : [];
      const text = 'text' in output ? output.text : null;
      const finish = calls.length > 0 ? 'tool_calls' : 'stop';
      if (!wantsStream(request)) {
        const message = { role: 'assistant', ...whole(thinks?.(spoken) ?? {}, text) };
        const choice = { index: 0, message: { ...message, tool_calls: calls }, finish_reason: finish };
        return reply.whole(null, { usage: counted, over: { choices: [choice] } });
      }
      const deltas = [
        ...(thinks === null ? [] : thought.map(thinks)),
        ...calls.map((call) => ({ tool_calls: [{ index: 0, ...call }] })),
        ...(text === null ? [] : [{ content: text }]),
      ];
      return reply.stream(
        deltas.map((delta) => ({ delta })),
        // Mistral reports usage without a request for it.
        { finish, usage: counted, usageOn: family.api === 'mistral' ? 'finish' : 'requested' },
      );
    },
  };
}

/** A whole message; a thought among its parts stands before its text. */
function whole(thinking: Json, text: string | null): object {
  const parts = thinking['content'];
  if (parts === undefined) return { ...thinking, content: text };
  return { content: [...list(parts), ...(text === null ? [] : [{ type: 'text', text }])] };
}

function callOf(id: string, { name, args }: { readonly name: string; readonly args: object }): object {
  return { id, type: 'function', function: { name, arguments: JSON.stringify(args) } };
}

// ---------------------------------------------------------------- the other APIs

interface WireForm extends Pick<Family, 'model' | 'results' | 'rule'> {
  readonly id: string;
}

/** Signs each thought; Gemini signs each call. */
function onWire(wire: Wire, { id, ...more }: WireForm): Family {
  const signsCalls = wire.dialect === 'google';
  return {
    ...more,
    api: wire.dialect,
    provider: wire.provider,
    rejects: (reason) => wire.refuses(400, reason),
    mark: signature,
    generates(output, request) {
      const signed = { signature };
      const blocks: readonly WireBlock[] = [
        { thought, ...(signsCalls ? {} : signed) },
        'text' in output
          ? { text: [output.text] }
          : {
              call: { id, name: output.call.name, args: [JSON.stringify(output.call.args)] },
              ...(signsCalls ? signed : {}),
            },
      ];
      return wire.responds({
        blocks,
        stop: 'text' in output ? 'end' : 'tools',
        usage: { ...tokensOf(request), reasoning: 2 },
      });
    },
  };
}

const blocksIn = (turns: unknown, member: string): readonly Json[] =>
  list(turns).flatMap((turn) => list(turn[member]));

/** A signature belongs to one thought: a changed one is "Invalid `signature` in `thinking` block". */
function isWhole(thoughts: readonly (Json | undefined)[], member: string): string | null {
  const changed = thoughts.find((one) => one?.['signature'] !== signature || one[member] !== spoken);
  return changed === undefined ? null : 'Invalid `signature` in `thinking` block';
}

/** https://ai.google.dev/gemini-api/docs/thought-signatures: each first call has one, or that word. */
function signsFirstCalls({ contents }: Json): string | null {
  for (const { parts } of list(contents)) {
    const first = list(parts).find(({ functionCall }) => functionCall !== undefined);
    const stated = first?.['thoughtSignature'];
    if (first !== undefined && stated !== signature && stated !== 'skip_thought_signature_validator')
      return 'Function call is missing a thought_signature';
  }
  return null;
}

/** Every family, each behind the API that judges it. */
export const families: readonly Family[] = [
  likeOpenai({ api: 'openai', model: 'gpt-5', id: `call_${'a'.repeat(24)}`, thinks: null, mark: null }),
  likeOpenai({
    ...{ api: 'deepseek', model: 'deepseek-chat', id: 'call_00_aB3dE6', mark: spoken },
    thinks: (text) => ({ reasoning_content: text }),
  }),
  likeOpenai({
    ...{ api: 'moonshot', model: 'kimi-k2.6', id: 'functions.weather:0', mark: spoken },
    thinks: (text) => ({ reasoning_content: text }),
  }),
  likeOpenai({
    ...{ api: 'mistral', model: 'mistral-small-latest', id: 'aB3dE6gH9', mark: spoken },
    thinks: (text) => ({ content: [{ type: 'thinking', thinking: [{ type: 'text', text }] }] }),
  }),
  likeOpenai({
    ...{ api: 'vllm', model: 'qwen3', id: 'chatcmpl-tool-0123456789abcdef', mark: spoken },
    thinks: (text) => ({ reasoning: text }),
  }),
  onWire(anthropicWire, {
    ...{ model: anthropicWire.model, id: 'toolu_01A09q90qw90lq917835lq9' },
    results: ({ messages }) => blocksIn(messages, 'content').filter(({ type }) => type === 'tool_result'),
    rule: ({ messages }) =>
      isWhole(
        blocksIn(messages, 'content').filter(({ type }) => type === 'thinking'),
        'thinking',
      ),
  }),
  onWire(bedrockWire, {
    ...{ model: bedrockWire.model, id: 'tooluse_kZJMlvQmRJ6eAyJE5GIl7Q' },
    results: ({ messages }) => blocksIn(messages, 'content').flatMap(({ toolResult }) => toolResult ?? []),
    rule: ({ messages }) =>
      isWhole(
        blocksIn(messages, 'content')
          .flatMap(({ reasoningContent }) => reasoningContent ?? [])
          .map((content) => (content as Json)['reasoningText'] as Json | undefined),
        'text',
      ),
  }),
  onWire(googleWire, {
    ...{ model: 'gemini-3-pro-preview', id: 'aB3dE6gH' },
    results: ({ contents }) =>
      blocksIn(contents, 'parts').flatMap(({ functionResponse }) => functionResponse ?? []),
    rule: signsFirstCalls,
  }),
];
