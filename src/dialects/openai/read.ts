import {
  type ChunkChoice,
  type CompletionKind,
  type Delta,
  maxToolCalls,
  type ResponseChunk,
  type ToolCallDelta,
  type UsageClaim,
} from '../../wire/chat.ts';
import { isObject, type JsonObject, memberIn } from '../../wire/json.ts';
import { doneData } from '../../wire/sse.ts';
import { type DecodedEvent, shortName } from '../dialect.ts';
import { finishReasonOf } from '../finish-reasons.ts';
import { parseErrorMessage, parseUpstreamJson } from '../parse-error-message.ts';
import { reasoningOf } from './reasoning.ts';

/** More choices in one object, or a higher index, than any request can specify. */
const maxChoices = 1024;
/** Reads one event of a stream. */
export function readEvent(kind: CompletionKind, data: string): DecodedEvent {
  if (data === doneData || (data.length < 64 && data.trim() === doneData)) return { kind: 'done' };
  return readObject(kind, data, 'delta');
}

/** Reads a non-streamed response, as one chunk. */
export function readWhole(kind: CompletionKind, body: string): DecodedEvent {
  return readObject(kind, body, 'message');
}

/**
 * `member` is the member of a choice with its content: `delta` in a stream, `message` otherwise.
 */
function readObject(kind: CompletionKind, text: string, member: 'delta' | 'message'): DecodedEvent {
  const parsed = parseUpstreamJson(text);
  if (!isObject(parsed)) return { kind: 'malformed', reason: 'no JSON object' };
  if (parsed['error'] != null) return errorEventOf(parsed['error'], text);
  const choices = parsed['choices'];
  const usage = readUsage(parsed['usage']);
  // Only a stream's usage chunk may have no choices.
  if (!Array.isArray(choices) && (member === 'message' || usage === null)) {
    return { kind: 'malformed', reason: 'no choices' };
  }
  const given = (Array.isArray(choices) ? choices : []).filter(isObject);
  if (given.length > maxChoices) return { kind: 'malformed', reason: 'too many choices' };
  const failed = given.find((choice) => choice['error'] != null);
  if (failed !== undefined) return errorEventOf(failed['error'], text);
  if (member === 'message' && !given.some((choice) => isOfKind(kind, choice)))
    return { kind: 'malformed', reason: given.length === 0 ? 'no choices' : 'no message' };
  const calls = given.reduce((sum, choice) => sum + callsIn(choice[member]), 0);
  if (calls > maxToolCalls) return { kind: 'malformed', reason: 'too many tool calls' };
  const read = given.map((choice, position) => readChoice(kind, choice, position, member));
  const dropped = given.flatMap((choice) => droppedOf(choice[member]));
  const chunk: ResponseChunk = {
    choices: read,
    usage,
    upstreamId: nameOf(parsed['id']),
    systemFingerprint: nameOf(parsed['system_fingerprint']),
    serviceTier: nameOf(parsed['service_tier']),
    ...(dropped.length === 0 ? {} : { dropped }),
  };
  const keptLength = member === 'message' ? 0 : textOnlyOf(chunk)?.length || keptLengthOf(text);
  return { kind: 'chunk', chunk, keptLength };
}

/** Of each object and list of an event, although two characters write it. */
const bytesPerObject = 48;

/** The bytes of memory that an event takes at most, once it is parsed. */
export function keptLengthOf(text: string): number {
  let objects = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === 0x7b || unit === 0x5b) objects += 1;
  }
  return text.length + objects * bytesPerObject;
}

/**
 * The text of a chunk that adds text to one choice and has nothing else of any length; null for any
 * other chunk.
 */
function textOnlyOf({ choices, usage }: ResponseChunk): string | null {
  const [choice] = choices;
  if (choice === undefined || choices.length > 1 || usage !== null || choice.logprobs !== null) return null;
  for (const name in choice.delta) if (name !== 'content') return null;
  return choice.delta.content ?? null;
}

/** A non-streamed choice with neither content nor a finish reason is not a response. */
function isOfKind(kind: CompletionKind, choice: JsonObject): boolean {
  const hasContent = kind === 'text' ? typeof choice['text'] === 'string' : isObject(choice['message']);
  return hasContent || nativeReasonOf(choice) !== null;
}

/** Some upstreams send "" or "null" while there is no reason. */
function nativeReasonOf(choice: JsonObject): string | null {
  const native = nonEmpty(choice['finish_reason']);
  return native === 'null' ? null : native;
}

function readChoice(
  kind: CompletionKind,
  choice: JsonObject,
  position: number,
  member: 'delta' | 'message',
): ChunkChoice {
  const native = nativeReasonOf(choice);
  const stated = statedIn(choice, member);
  const delta = kind === 'text' ? readText(choice) : isObject(stated) ? readDelta(stated) : {};
  const reason = native === null ? null : finishReasonOf(native);
  return {
    index: indexOr(choice['index'], position),
    delta,
    // Some engines stop after calls.
    finish_reason: reason === 'stop' && delta.tool_calls !== undefined ? 'tool_calls' : reason,
    native_finish_reason: nameOf(nonEmpty(choice['native_finish_reason']) ?? native),
    logprobs: isObject(choice['logprobs']) ? choice['logprobs'] : null,
  };
}

/** Some upstreams put the whole message, or the text alone, into the events of a stream. */
function statedIn(choice: JsonObject, member: 'delta' | 'message'): unknown {
  const stated = choice[member];
  if (isObject(stated) && Object.keys(stated).length > 0) return stated;
  return choice['message'] ?? (typeof choice['text'] === 'string' ? { content: choice['text'] } : stated);
}

function readText(choice: JsonObject): Delta {
  const reasoning = nonEmpty(choice['reasoning']);
  return { content: stringOr(choice['text'], ''), ...(reasoning === null ? {} : { reasoning }) };
}

/** Keys with null or a wrong type are omitted: strict clients throw on them. */
function readDelta(stated: JsonObject): Delta {
  const delta: { -readonly [K in keyof Delta]: Delta[K] } = {};
  if (typeof stated['content'] === 'string') delta.content = stated['content'];
  else if (Array.isArray(stated['content'])) delta.content = textOfParts(stated['content']);
  Object.assign(delta, reasoningOf(stated));
  const calls = isFilled(stated['tool_calls']) ? stated['tool_calls'].filter(isObject) : [];
  if (calls.length > 0) delta.tool_calls = calls.map(readToolCall);
  // Old engines answer tools with the one call of the older API.
  else if (isObject(stated['function_call']))
    delta.tool_calls = [readToolCall({ function: stated['function_call'] }, 0)];
  const refusal = nonEmpty(stated['refusal']);
  if (refusal !== null) delta.refusal = refusal;
  if (isFilled(stated['annotations'])) delta.annotations = stated['annotations'];
  return delta;
}

/** Content as a list of parts, which some upstreams send instead of text. */
function textOfParts(parts: readonly unknown[]): string {
  return parts
    .map((part) => (isObject(part) && typeof part['text'] === 'string' ? part['text'] : ''))
    .join('');
}

/** The kinds of media in a delta or message, none of which is passed on (spec:api/14.6). */
function droppedOf(stated: unknown): readonly string[] {
  if (!isObject(stated)) return [];
  const members = media.filter((name) => isObject(stated[name]) || isFilled(stated[name]));
  if (!Array.isArray(stated['content'])) return members;
  const parts = stated['content'].filter(isObject).map(({ type }) => type);
  return [...members, ...parts.flatMap((type) => (isPassedOn(type) ? [] : [shortName(String(type))]))];
}

const media = ['images', 'audio', 'video'];

function isPassedOn(type: unknown): boolean {
  return type == null || type === 'text' || type === 'output_text' || type === 'thinking';
}

function callsIn(stated: unknown): number {
  const calls = isObject(stated) ? stated['tool_calls'] : null;
  return Array.isArray(calls) ? calls.length : 0;
}

function readToolCall(call: JsonObject, position: number): ToolCallDelta {
  const called = isObject(call['function']) ? call['function'] : {};
  const id = nonEmpty(call['id']);
  const name = nonEmpty(called['name']);
  const args = called['arguments'];
  return {
    index: indexOr(call['index'], position),
    ...(id === null ? {} : { id }),
    ...(id === null && name === null ? {} : { type: 'function' as const }),
    function: {
      ...(name === null ? {} : { name }),
      // Some engines send the arguments as an object instead of JSON text.
      ...(args == null ? {} : { arguments: typeof args === 'string' ? args : JSON.stringify(args) }),
    },
  };
}

function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

function readUsage(usage: unknown): UsageClaim | null {
  if (!isObject(usage)) return null;
  // Some upstreams name them as OpenAI's newer API does.
  const prompt = objectOf(usage['prompt_tokens_details'] ?? usage['input_tokens_details']);
  const completion = objectOf(usage['completion_tokens_details'] ?? usage['output_tokens_details']);
  return {
    promptTokens: usage['prompt_tokens'],
    completionTokens: usage['completion_tokens'],
    totalTokens: usage['total_tokens'],
    reasoningTokens: completion['reasoning_tokens'] ?? usage['reasoning_tokens'],
    // The names of OpenAI, Moonshot, DeepSeek, and LiteLLM for other APIs; each counts the same.
    cacheReadTokens:
      prompt['cached_tokens'] ??
      usage['cached_tokens'] ??
      usage['prompt_cache_hit_tokens'] ??
      usage['cache_read_input_tokens'],
    cacheWrite1hTokens: memberIn(
      prompt['cache_creation_token_details'] ?? usage['cache_creation'],
      'ephemeral_1h_input_tokens',
    ),
    cacheWriteTokens:
      prompt['cache_write_tokens'] ?? prompt['cache_creation_tokens'] ?? usage['cache_creation_input_tokens'],
  };
}

function errorEventOf(error: unknown, text: string): DecodedEvent {
  const code = isObject(error) ? Number(error['code'] ?? error['status']) : Number.NaN;
  return {
    kind: 'error',
    status: Number.isInteger(code) && code >= 400 && code < 600 ? code : null,
    reason: parseErrorMessage(text),
  };
}

/** An index that is safe for clients, which may allocate a list of that length. */
function indexOr(index: unknown, position: number): number {
  return Number.isInteger(index) && Number(index) >= 0 && Number(index) < maxChoices
    ? Number(index)
    : position;
}

function isFilled(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.length > 0;
}

function nonEmpty(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function nameOf(value: unknown): string | null {
  return typeof value === 'string' ? shortName(value) : null;
}

function stringOr<T>(value: unknown, otherwise: T): string | T {
  return typeof value === 'string' ? value : otherwise;
}
