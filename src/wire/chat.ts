import type { Preferences } from './preferences.ts';

/**
 * The internal format of the gateway: every dialect translates to it, every endpoint builds its
 * response from it. It uses the names of the public chat format, because that is the most common
 * one. Objects of an upstream are never passed on; these are built new.
 */

/** The two kinds of request: `/chat/completions` and `/completions`. */
export type CompletionKind = 'chat' | 'text';

/**
 * A request parsed from its body: what routing needs is typed, all other known parameters are as
 * received.
 */
export interface CompletionRequest {
  readonly kind: CompletionKind;
  /** The models to try, in order, without duplicates. */
  readonly models: readonly string[];
  readonly stream: boolean;
  /** `messages` or `prompt` as received: only the shape is checked. */
  readonly input: unknown;
  /** Known parameters except model, messages, prompt and stream; null values are omitted. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Names of body members without effect: unknown ones, and `-1` where it means no limit. */
  readonly ignored: readonly string[];
  /** Whether the client wants images or speech, which no candidate generates (spec:api/12.8). */
  readonly wantsMedia: boolean;
  /**
   * Whether the client wants no reasoning in the response; it is counted and billed all the same.
   */
  readonly hidesReasoning: boolean;
  /** Whether the client sent `functions`, and reads calls as `function_call`. */
  readonly readsFunctionCalls: boolean;
  /** The client's limit of completion tokens; null when it set none. */
  readonly maxTokens: number | null;
  /** The number of choices requested, for all prompts together. */
  readonly choices: number;
  /** The number of completions that are generated: more than `choices` with `best_of`. */
  readonly completions: number;
  /** Kinds of input in the messages, other than text. */
  readonly inputs: ReadonlySet<InputModality>;
  /** Number of images, recordings, films and files in the messages. */
  readonly mediaParts: number;
  /**
   * UTF-8 bytes of all text of the prompt, tools included, media excluded: an upper bound of its
   * tokens.
   */
  readonly textBytes: number;
  /** Routing preferences of the client. */
  readonly provider: Preferences;
  /** The client's own ids of end user and session, for the record. */
  readonly user: string | null;
  readonly sessionId: string | null;
}

/** Kinds of input that are sent only to a model that declares them. */
export type InputModality = 'image' | 'audio' | 'file' | 'video';

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'error';

/** The most tool calls of a response, over all its choices: an upstream that makes more has failed. */
export const maxToolCalls = 1_024;

/** A part of a streamed tool call; `index` is the call that it continues. */
export interface ToolCallDelta {
  readonly index: number;
  readonly id?: string;
  readonly type?: 'function';
  readonly function: { readonly name?: string; readonly arguments?: string };
}

/** What one chunk adds to a choice. Empty keys are absent, never null. */
export interface Delta {
  readonly content?: string;
  readonly reasoning?: string;
  readonly reasoning_details?: readonly unknown[];
  readonly tool_calls?: readonly ToolCallDelta[];
  readonly refusal?: string;
  readonly annotations?: readonly unknown[];
}

export interface ChunkChoice {
  readonly index: number;
  readonly delta: Delta;
  readonly finish_reason: FinishReason | null;
  readonly native_finish_reason: string | null;
  readonly logprobs: object | null;
}

/** Token counts that an upstream reports, not yet reconciled. */
export interface UsageClaim {
  readonly promptTokens: unknown;
  readonly completionTokens: unknown;
  /** Shows whether reasoning is counted inside the completion or beside it. */
  readonly totalTokens?: unknown;
  readonly reasoningTokens: unknown;
  readonly cacheReadTokens: unknown;
  readonly cacheWriteTokens: unknown;
  /** Of these, the tokens written for an hour. */
  readonly cacheWrite1hTokens?: unknown;
  /**
   * Whether there was reasoning that the upstream does not count separately; there may be more of
   * it than it returned.
   */
  readonly uncountedReasoning?: boolean;
}

/** One piece of a response. A non-streamed response is one piece. */
export interface ResponseChunk {
  readonly choices: readonly ChunkChoice[];
  readonly usage: UsageClaim | null;
  /** The upstream's own id of the response. */
  readonly upstreamId: string | null;
  readonly systemFingerprint: string | null;
  readonly serviceTier: string | null;
  /** Kinds of parts that are not passed on (spec:api/14.6); absent: there were none. */
  readonly dropped?: readonly string[];
}

/**
 * Whether a chunk has content. A chunk with only a role has none, and does not commit the response
 * (the first-byte rule).
 */
export function isMeaningful(chunk: ResponseChunk): boolean {
  return chunk.choices.some((choice) => choice.finish_reason !== null || hasContent(choice.delta));
}

/**
 * Why a chunk makes its response a failed one: a choice ended with `error` (spec:errors/6.6); null
 * for any other chunk.
 */
export function failureIn({ choices }: ResponseChunk): string | null {
  const failed = choices.find((choice) => choice.finish_reason === 'error');
  return failed === undefined ? null : `the upstream ended with ${failed.native_finish_reason ?? 'error'}`;
}

/** A choice without its reasoning. */
export function withoutReasoning(choice: ChunkChoice): ChunkChoice {
  const { reasoning: _, reasoning_details: __, ...delta } = choice.delta;
  return { ...choice, delta };
}

/** Whether a delta adds content to its choice. */
export function hasContent(delta: Delta): boolean {
  return (
    (delta.content !== undefined && delta.content !== '') ||
    (delta.reasoning !== undefined && delta.reasoning !== '') ||
    (delta.refusal !== undefined && delta.refusal !== '') ||
    (delta.tool_calls !== undefined && delta.tool_calls.length > 0) ||
    (delta.reasoning_details !== undefined && delta.reasoning_details.length > 0) ||
    delta.annotations !== undefined
  );
}
