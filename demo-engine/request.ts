import type { GenerateRequest, Sampling } from './engine.ts';
import { type Fields, flagOf, integerIn, numberIn, objectOf, stringOf } from './fields.ts';
import { contextTokens } from './native.ts';
import { promptOf, turnsOf } from './prompt.ts';
import { Refusal } from './refusal.ts';
import { grammarOptionsOf, type Tool, toolUseOf } from './tools.ts';

/** A parsed request: what to generate and in which format. */
export interface EngineRequest {
  readonly kind: 'chat' | 'text';
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly generate: GenerateRequest;
  /** Tools the model may call; empty when it may not. */
  readonly tools: readonly Tool[];
  /** The last user message; empty for plain text. */
  readonly question: string;
}

/** The default maximum of tokens; the trained responses have at most 60. */
const defaultMaxTokens = 512;

/** Parses the body of `POST /v1/chat/completions`; throws a 400. Ignores unknown members. */
export function parseChatRequest(body: Fields): EngineRequest {
  const turns = turnsOf(body['messages']);
  const question = turns.findLast(({ role }) => role === 'user')?.text ?? '';
  const toolUse = toolUseOf(body, question);
  const grammar = grammarOptionsOf(toolUse, question);
  return {
    kind: 'chat',
    ...commonOf(body, promptOf(turns, toolUse.tools), grammar),
    tools: toolUse.tools,
    question,
  };
}

/** Parses the body of `POST /v1/completions`; throws a 400. The prompt is text, not tokens. */
export function parseTextRequest(body: Fields): EngineRequest {
  const prompt = body['prompt'];
  const text = stringOf(Array.isArray(prompt) && prompt.length === 1 ? prompt[0] : prompt, 'prompt');
  return { kind: 'text', ...commonOf(body, `<s>${text}`, {}), tools: [], question: '' };
}

function commonOf(
  body: Fields,
  prompt: string,
  grammar: object,
): Omit<EngineRequest, 'kind' | 'tools' | 'question'> {
  integerIn(body, 'n', [1, 1], 1);
  const tokens = [1, contextTokens] as const;
  const maxTokens = integerIn(
    body,
    'max_completion_tokens',
    tokens,
    integerIn(body, 'max_tokens', tokens, defaultMaxTokens),
  );
  const stream = flagOf(body, 'stream');
  const streamOptions = objectOf(body['stream_options'] ?? {}, 'stream_options');
  return {
    stream,
    includeUsage: flagOf(streamOptions, 'include_usage'),
    generate: { prompt, sampling: samplingOf(body), stop: stopsOf(body['stop']), maxTokens, grammar },
  };
}

function samplingOf(body: Fields): Sampling {
  return {
    // A demo should be repeatable, so the default selects the likeliest token.
    temperature: numberIn(body, 'temperature', [0, 2], 0),
    topP: numberIn(body, 'top_p', [0, 1], 1),
    topK: integerIn(body, 'top_k', [0, 100_000], 0),
    minP: numberIn(body, 'min_p', [0, 1], 0),
    frequencyPenalty: numberIn(body, 'frequency_penalty', [-2, 2], 0),
    presencePenalty: numberIn(body, 'presence_penalty', [-2, 2], 0),
    seed: integerIn(body, 'seed', [-(2 ** 53), 2 ** 53], null),
  };
}

function stopsOf(stop: unknown): readonly string[] {
  if (stop === undefined || stop === null) return [];
  const stops = typeof stop === 'string' ? [stop] : stop;
  const fine =
    Array.isArray(stops) &&
    stops.length <= 16 &&
    stops.every((text) => typeof text === 'string' && text !== '');
  if (!fine) throw new Refusal(400, 'stop must be a string or up to 16 strings, none of them empty', 'stop');
  return stops as string[];
}
