import type { Preferences } from './preferences.ts';

/**
 * The inner language of the gateway: every dialect translates into it, every surface is built from it. It has the words of the
 * public chat format, since those are what is said most. Objects of an upstream are never passed on; these are built afresh.
 */

/** The two ways to ask for text: `/chat/completions` and `/completions`. */
export type CompletionKind = 'chat' | 'text';

/** A request as read from its body: what routing needs, typed; all other known parameters as they came. */
export interface CompletionRequest {
  readonly kind: CompletionKind;
  /** The models to try, in order, each once. */
  readonly models: readonly string[];
  readonly stream: boolean;
  /** `messages` or `prompt`, as it came: checked for shape, otherwise the client's own. */
  readonly input: unknown;
  /** Known parameters other than model, messages, prompt and stream; those with null left out. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Members of the body that had no effect, by name: unknown ones, and `-1` where that means no limit. */
  readonly ignored: readonly string[];
  /** Whether the client wants no thoughts in its answer; they are counted and billed all the same. */
  readonly hidesThoughts: boolean;
  /** The most completion tokens the client asked for; null when it did not say. */
  readonly maxTokens: number | null;
  /** How many choices are asked for. */
  readonly choices: number;
  /** What kinds of input the messages carry beside text. */
  readonly inputs: ReadonlySet<InputModality>;
  /** How many media parts (images, audio, files) the messages carry. */
  readonly mediaParts: number;
  /** UTF-8 bytes of all text of the prompt, tools included, media left out: no tokenizer makes more tokens of it. */
  readonly textBytes: number;
  /** Routing preferences of the client. */
  readonly provider: Preferences;
  /** End-user id and session of the client's own, for the record. */
  readonly user: string | null;
  readonly sessionId: string | null;
}

/** Kinds of input that a model must declare before it is sent any. */
export type InputModality = 'image' | 'audio' | 'file' | 'video';

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'error';

/** A part of a tool call as it streams; `index` says which call it continues. */
export interface ToolCallDelta {
  readonly index: number;
  readonly id?: string;
  readonly type?: 'function';
  readonly function: { readonly name?: string; readonly arguments?: string };
}

/** What one chunk adds to a choice. Keys are absent, never null, when they say nothing. */
export interface Delta {
  readonly content?: string;
  readonly reasoning?: string;
  readonly reasoning_details?: readonly unknown[];
  readonly tool_calls?: readonly ToolCallDelta[];
  readonly refusal?: string;
  readonly images?: readonly unknown[];
  readonly audio?: object;
  readonly annotations?: readonly unknown[];
}

export interface ChunkChoice {
  readonly index: number;
  readonly delta: Delta;
  readonly finish_reason: FinishReason | null;
  readonly native_finish_reason: string | null;
  readonly logprobs: object | null;
}

/** Token counts as an upstream claims them: nothing in here has been believed yet. */
export interface UsageClaim {
  readonly promptTokens: unknown;
  readonly completionTokens: unknown;
  readonly reasoningTokens: unknown;
  readonly cacheReadTokens: unknown;
  readonly cacheWriteTokens: unknown;
  /** Whether there were thoughts that the upstream does not count by themselves; they may be more than what was shown of them. */
  readonly uncountedThoughts?: boolean;
}

/** One piece of an answer. A whole answer is one piece. */
export interface AnswerChunk {
  readonly choices: readonly ChunkChoice[];
  readonly usage: UsageClaim | null;
  /** The upstream's own id of the answer. */
  readonly upstreamId: string | null;
  readonly systemFingerprint: string | null;
  readonly serviceTier: string | null;
}

/** Whether a chunk says anything: a bare role chunk does not, and does not commit the response (design: the first-byte rule). */
export function isMeaningful(chunk: AnswerChunk): boolean {
  return chunk.choices.some((choice) => choice.finish_reason !== null || hasContent(choice.delta));
}

/** A choice without what the model thought. */
export function withoutThoughts(choice: ChunkChoice): ChunkChoice {
  const { reasoning: _, reasoning_details: __, ...delta } = choice.delta;
  return { ...choice, delta };
}

/** Whether a delta adds anything to its choice. */
export function hasContent(delta: Delta): boolean {
  return (
    (delta.content !== undefined && delta.content !== '') ||
    (delta.reasoning !== undefined && delta.reasoning !== '') ||
    (delta.refusal !== undefined && delta.refusal !== '') ||
    (delta.tool_calls !== undefined && delta.tool_calls.length > 0) ||
    (delta.reasoning_details !== undefined && delta.reasoning_details.length > 0) ||
    delta.images !== undefined ||
    delta.audio !== undefined ||
    delta.annotations !== undefined
  );
}
