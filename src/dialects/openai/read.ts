import type {
  AnswerChunk,
  AskKind,
  ChunkChoice,
  Delta,
  FinishReason,
  ToolCallDelta,
  UsageClaim,
} from '../../wire/chat.ts';
import { doneData } from '../../wire/sse.ts';
import type { Heard } from '../dialect.ts';

type Json = Readonly<Record<string, unknown>>;

/** Reads one event of a stream. */
export function readEvent(kind: AskKind, data: string): Heard {
  if (data === doneData) return { kind: 'done' };
  return readObject(kind, data, 'delta');
}

/** Reads a whole answer, as one chunk. */
export function readWhole(kind: AskKind, body: string): Heard {
  return readObject(kind, body, 'message');
}

/** An upstream's words for why it refused: its error message when there is one, else the start of the body. */
export function readReason(body: string): string {
  const parsed = parse(body);
  const error = isObject(parsed) ? parsed['error'] : undefined;
  if (typeof error === 'string') return error.slice(0, 500);
  if (isObject(error) && typeof error['message'] === 'string') return error['message'].slice(0, 500);
  return body.slice(0, 200);
}

/** `member` names where a choice has its words: `delta` in a stream, `message` in a whole answer. */
function readObject(kind: AskKind, text: string, member: 'delta' | 'message'): Heard {
  const parsed = parse(text);
  if (!isObject(parsed)) return { kind: 'garbage', reason: 'not a JSON object' };
  if (parsed['error'] != null) return heardError(parsed['error'], text);
  const choices = parsed['choices'];
  const usage = readUsage(parsed['usage']);
  // Only a stream's usage chunk may come without choices.
  if (!Array.isArray(choices) && (member === 'message' || usage === null)) {
    return { kind: 'garbage', reason: 'no choices' };
  }
  const read = (Array.isArray(choices) ? choices : [])
    .filter(isObject)
    .map((choice, position) => readChoice(kind, choice, position, member));
  if (member === 'message' && read.length === 0) return { kind: 'garbage', reason: 'no choices' };
  const failed = Array.isArray(choices)
    ? choices.filter(isObject).find((choice) => choice['error'] != null)
    : undefined;
  if (failed !== undefined) return heardError(failed['error'], text);
  const chunk: AnswerChunk = {
    choices: read,
    usage,
    upstreamId: stringOr(parsed['id'], null),
    systemFingerprint: stringOr(parsed['system_fingerprint'], null),
    serviceTier: stringOr(parsed['service_tier'], null),
  };
  return { kind: 'chunk', chunk };
}

function readChoice(kind: AskKind, choice: Json, position: number, member: 'delta' | 'message'): ChunkChoice {
  const native = stringOr(choice['finish_reason'], null);
  const said = choice[member];
  return {
    index: Number.isSafeInteger(choice['index']) ? Number(choice['index']) : position,
    delta: kind === 'text' ? readText(choice) : isObject(said) ? readDelta(said) : {},
    finish_reason: native === null ? null : finishReasonOf(native),
    native_finish_reason: stringOr(choice['native_finish_reason'], native),
    logprobs: isObject(choice['logprobs']) ? choice['logprobs'] : null,
  };
}

function readText(choice: Json): Delta {
  const reasoning = nonEmpty(choice['reasoning']);
  return { content: stringOr(choice['text'], ''), ...(reasoning === null ? {} : { reasoning }) };
}

/** Keys whose value is null or of the wrong type are left out: strict clients throw on them. */
function readDelta(said: Json): Delta {
  const delta: { -readonly [K in keyof Delta]: Delta[K] } = {};
  if (typeof said['content'] === 'string') delta.content = said['content'];
  const reasoning = nonEmpty(said['reasoning']) ?? nonEmpty(said['reasoning_content']);
  if (reasoning !== null) delta.reasoning = reasoning;
  if (isFilled(said['reasoning_details'])) delta.reasoning_details = said['reasoning_details'];
  if (isFilled(said['tool_calls'])) delta.tool_calls = said['tool_calls'].filter(isObject).map(readToolCall);
  const refusal = nonEmpty(said['refusal']);
  if (refusal !== null) delta.refusal = refusal;
  if (isFilled(said['images'])) delta.images = said['images'];
  if (isFilled(said['annotations'])) delta.annotations = said['annotations'];
  if (isObject(said['audio'])) delta.audio = said['audio'];
  return delta;
}

function readToolCall(call: Json, position: number): ToolCallDelta {
  const called = isObject(call['function']) ? call['function'] : {};
  const id = nonEmpty(call['id']);
  const name = nonEmpty(called['name']);
  const args = called['arguments'];
  return {
    index: Number.isSafeInteger(call['index']) ? Number(call['index']) : position,
    ...(id === null ? {} : { id }),
    ...(id === null && name === null ? {} : { type: 'function' as const }),
    function: {
      ...(name === null ? {} : { name }),
      // Some engines send the arguments as an object instead of its JSON text.
      ...(args == null ? {} : { arguments: typeof args === 'string' ? args : JSON.stringify(args) }),
    },
  };
}

function readUsage(usage: unknown): UsageClaim | null {
  if (!isObject(usage)) return null;
  const prompt = isObject(usage['prompt_tokens_details']) ? usage['prompt_tokens_details'] : {};
  const completion = isObject(usage['completion_tokens_details']) ? usage['completion_tokens_details'] : {};
  return {
    promptTokens: usage['prompt_tokens'],
    completionTokens: usage['completion_tokens'],
    reasoningTokens: completion['reasoning_tokens'],
    cacheReadTokens: prompt['cached_tokens'],
    cacheWriteTokens: prompt['cache_write_tokens'],
  };
}

/** The five public reasons; whatever else an engine calls the end of its answer is one of them by another name. */
function finishReasonOf(native: string): FinishReason {
  switch (native) {
    case 'stop':
    case 'length':
    case 'tool_calls':
    case 'content_filter':
    case 'error':
      return native;
    case 'function_call':
    case 'tool_use':
      return 'tool_calls';
    case 'max_tokens':
    case 'max_output_tokens':
    case 'MAX_TOKENS':
      return 'length';
    case 'safety':
    case 'SAFETY':
    case 'refusal':
      return 'content_filter';
    default:
      return 'stop';
  }
}

function heardError(error: unknown, text: string): Heard {
  const code = isObject(error) ? Number(error['code'] ?? error['status']) : Number.NaN;
  return {
    kind: 'error',
    status: Number.isInteger(code) && code >= 400 && code < 600 ? code : null,
    reason: readReason(text),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isFilled(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.length > 0;
}

function nonEmpty(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function stringOr<T>(value: unknown, otherwise: T): string | T {
  return typeof value === 'string' ? value : otherwise;
}
