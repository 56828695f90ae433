import { type Act, bytesOf, type Gate, type Rendered } from './upstream-actions.ts';
import type { RequestHead } from './upstream-read.ts';

/** What a reply may depend on. */
export interface UpstreamRequest extends RequestHead {
  /** 1 for the first request since the start. */
  readonly n: number;
  /** The parsed body; empty when it is no JSON object. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly raw: Buffer;
}

/**
 * One item of a stream: a string is content, a gate waits for the test, the others are
 * self-describing.
 */
export type Piece =
  | string
  | Gate
  | { readonly waitMs: number }
  | { readonly reasoning: string }
  /** A raw chat delta. */
  | { readonly delta: object }
  /** A raw chunk. */
  | { readonly chunk: unknown }
  /** A raw `data:` line, JSON or not. */
  | { readonly data: string }
  | { readonly comment: string }
  /** Bytes outside any frame. */
  | { readonly raw: string | Uint8Array };

/**
 * How a response differs from the ordinary one. An absent member is as a well-behaved provider
 * would send it.
 */
export interface ResponseOptions {
  /** Verbatim; null leaves it out. Default 10 prompt and 5 completion tokens. */
  readonly usage?: unknown;
  /**
   * Stream: a separate chunk when requested by `stream_options` (default), always, or on the finish
   * chunk.
   */
  readonly usageOn?: 'requested' | 'always' | 'finish';
  /**
   * Default `stop`, or `tool_calls` when there are some; null for none (a stream then has no finish
   * chunk).
   */
  readonly finish?: string | null;
  /** Whole: the message's reasoning, tool calls, and the choice's logprobs. */
  readonly reasoning?: string;
  readonly toolCalls?: readonly object[];
  readonly logprobs?: unknown;
  /** Members merged over the response, or over every chunk; undefined ones are removed. */
  readonly over?: object;
  /** Stream: a bare role chunk first (default true), `[DONE]` last (default true). */
  readonly role?: boolean;
  readonly done?: boolean;
  /** Stream: the line endings (default LF), and whether a byte order mark is first. */
  readonly newline?: '\n' | '\r\n' | '\r';
  readonly bom?: boolean;
  readonly status?: number;
  /** Added to, or instead of, the default ones of the same spelling in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Content-length as claimed (true by default), chunks (default of a stream), or until the
   * connection closes.
   */
  readonly framing?: 'length' | 'chunked' | 'close' | { readonly length: number };
}

/** The creation instant of all responses: 2026-11-21T00:00:00Z, in seconds. */
const CREATED = 1_795_219_200;

/** A usage object of the OpenAI dialect; `extra` is laid over it. */
export function usage(promptTokens: number, completionTokens: number, extra: object = {}): object {
  const total = promptTokens + completionTokens;
  return { prompt_tokens: promptTokens, completion_tokens: completionTokens, total_tokens: total, ...extra };
}

/** A JSON response in the dialect of the requested path (chat completions or completions). */
export function jsonResponse(
  request: UpstreamRequest,
  content: string | null,
  options: ResponseOptions,
): Rendered {
  const counted = options.usage === undefined ? usage(10, 5) : options.usage;
  const response = {
    ...envelope(request, false),
    choices: [isChat(request) ? chatChoice(content, options) : textChoice(content ?? '', options)],
    ...(counted === null ? {} : { usage: counted }),
    ...options.over,
  };
  return respond(options, 'application/json', [
    { act: 'send', bytes: Buffer.from(JSON.stringify(response)) },
  ]);
}

/** A streamed response in the dialect of the requested path, one write an event. */
export function streamedResponse(
  sent: UpstreamRequest,
  pieces: readonly Piece[],
  options: ResponseOptions,
): Rendered {
  const counted = options.usage === undefined ? usage(10, 5) : options.usage;
  const finish = options.finish === undefined ? 'stop' : options.finish;
  const usageOn = options.usageOn ?? 'requested';
  const wanted = usageOn === 'always' || (usageOn === 'requested' && wantsUsage(sent));
  const script: Piece[] = [...pieces];
  if (isChat(sent) && options.role !== false) script.unshift({ delta: { role: 'assistant', content: '' } });
  if (finish !== null) {
    const extra = usageOn === 'finish' && counted !== null ? { usage: counted } : {};
    script.push({ chunk: { ...chunkOf(sent, {}, finish), ...extra, ...options.over } });
  }
  if (counted !== null && wanted) {
    script.push({ chunk: { ...envelope(sent, true), choices: [], usage: counted, ...options.over } });
  }
  if (options.done !== false) script.push({ data: '[DONE]' });
  const acts = script.map((piece) => actOf(sent, piece, options));
  if (options.bom === true) acts.unshift({ act: 'send', bytes: Buffer.from('\ufeff') });
  return respond({ framing: 'chunked', ...options }, 'text/event-stream', acts);
}

/** A response of any status and type around a body given in acts. */
export function respond(options: ResponseOptions, type: string, body: readonly Act[]): Rendered {
  const framing = options.framing ?? 'length';
  const status = options.status ?? 200;
  const length = typeof framing === 'object' ? framing.length : bytesOf(body).length;
  const headers = {
    'content-type': type,
    ...(framing === 'chunked' ? { 'transfer-encoding': 'chunked' } : {}),
    ...(framing === 'close' ? { connection: 'close' } : {}),
    ...(framing === 'length' || typeof framing === 'object' ? { 'content-length': String(length) } : {}),
    ...options.headers,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = Buffer.from(`HTTP/1.1 ${status} Scripted\r\n${lines.join('')}\r\n`, 'latin1');
  const framed = framing === 'chunked' ? [...body.map(inChunk), LAST_CHUNK] : body;
  const acts: readonly Act[] = [{ act: 'send', bytes: head }, ...framed];
  return { acts: framing === 'close' ? [...acts, { act: 'end', by: 'fin' }] : acts, headBytes: head.length };
}

/** Whether the request wants a stream. */
export function wantsStream(request: UpstreamRequest): boolean {
  return request.body['stream'] === true;
}

const LAST_CHUNK: Act = { act: 'send', bytes: Buffer.from('0\r\n\r\n') };

function inChunk(act: Act): Act {
  if (act.act !== 'send' || act.bytes.length === 0) return act;
  const size = Buffer.from(`${act.bytes.length.toString(16)}\r\n`);
  return { act: 'send', bytes: Buffer.concat([size, act.bytes, Buffer.from('\r\n')]) };
}

function actOf(request: UpstreamRequest, piece: Piece, options: ResponseOptions): Act {
  if (typeof piece === 'string') return event(chunk(request, contentDelta(request, piece), options), options);
  if ('opened' in piece) return { act: 'hold', gate: piece };
  if ('waitMs' in piece) return { act: 'wait', waitMs: piece.waitMs };
  if ('reasoning' in piece) return event(chunk(request, { reasoning: piece.reasoning }, options), options);
  if ('delta' in piece) return event(chunk(request, piece.delta, options), options);
  if ('chunk' in piece) return event(JSON.stringify(piece.chunk), options);
  if ('data' in piece) return event(piece.data, options);
  if ('comment' in piece) return frame(`: ${piece.comment}`, options);
  return { act: 'send', bytes: Buffer.from(piece.raw) };
}

function event(data: string, options: ResponseOptions): Act {
  return frame(`data: ${data}`, options);
}

function frame(line: string, options: ResponseOptions): Act {
  return { act: 'send', bytes: Buffer.from(line + (options.newline ?? '\n').repeat(2)) };
}

function chunk(request: UpstreamRequest, delta: object, options: ResponseOptions): string {
  return JSON.stringify({ ...chunkOf(request, delta, null), ...options.over });
}

function chunkOf(request: UpstreamRequest, delta: object, finish: string | null): object {
  const choice = isChat(request)
    ? { index: 0, delta, logprobs: null, finish_reason: finish }
    : { index: 0, text: '', ...delta, logprobs: null, finish_reason: finish };
  return { ...envelope(request, true), choices: [choice] };
}

function contentDelta(request: UpstreamRequest, content: string): object {
  return isChat(request) ? { content } : { text: content };
}

function chatChoice(content: string | null, options: ResponseOptions): object {
  const message = {
    role: 'assistant',
    content,
    ...(options.reasoning === undefined ? {} : { reasoning: options.reasoning }),
    ...(options.toolCalls === undefined ? {} : { tool_calls: options.toolCalls }),
  };
  const finish = options.toolCalls === undefined ? 'stop' : 'tool_calls';
  return { index: 0, message, ...closing(finish, options) };
}

function textChoice(text: string, options: ResponseOptions): object {
  return { index: 0, text, ...closing('stop', options) };
}

function closing(finish: string, options: ResponseOptions): object {
  return {
    logprobs: options.logprobs ?? null,
    finish_reason: options.finish === undefined ? finish : options.finish,
  };
}

/** The id has a fixed width, so that a response's length does not depend on its number. */
function envelope(request: UpstreamRequest, streamed: boolean): object {
  const id = String(request.n).padStart(6, '0');
  const model = request.body['model'] ?? 'upstream-model';
  if (!isChat(request)) return { id: `cmpl-${id}`, object: 'text_completion', created: CREATED, model };
  const object = streamed ? 'chat.completion.chunk' : 'chat.completion';
  return { id: `chatcmpl-${id}`, object, created: CREATED, model };
}

function isChat(request: UpstreamRequest): boolean {
  return !request.path.endsWith('/completions') || request.path.endsWith('/chat/completions');
}

function wantsUsage(request: UpstreamRequest): boolean {
  const options = request.body['stream_options'];
  return (
    typeof options === 'object' &&
    options !== null &&
    'include_usage' in options &&
    options.include_usage === true
  );
}
