import {
  type ChunkChoice,
  type CompletionKind,
  type FinishReason,
  hasContent,
  type ResponseChunk,
  type ToolCallDelta,
  withoutReasoning,
} from './chat.ts';
import { sseEvent } from './sse.ts';

/** Members that every object of one response shares: our id, our names. */
export interface Envelope {
  readonly kind: CompletionKind;
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  readonly model: string;
  readonly provider: string;
}

/** One choice of a non-streamed response, aggregated from its chunks. */
export interface WholeChoice {
  readonly index: number;
  readonly message: Readonly<Record<string, unknown>>;
  readonly finishReason: FinishReason | null;
  readonly nativeFinishReason: string | null;
  readonly logprobs: object | null;
}

/** Writes the events of one streamed response. The parts that never change are built once. */
export class ChunkWriter {
  readonly #kind: CompletionKind;
  readonly #head: string;
  readonly #tail: string;
  /** All of an event of a chat but its text, up to it and behind it. */
  readonly #textHead: string;
  readonly #textTail: string;
  readonly #hidesReasoning: boolean;
  readonly #readsFunctionCalls: boolean;
  /** The choices that have begun, by index: the first delta of a choice has the role. */
  readonly #begun: boolean[] = [];

  constructor(
    envelope: Envelope,
    extras: {
      readonly systemFingerprint: string | null;
      readonly serviceTier: string | null;
      readonly hidesReasoning: boolean;
      readonly readsFunctionCalls: boolean;
    },
  ) {
    this.#kind = envelope.kind;
    this.#hidesReasoning = extras.hidesReasoning;
    this.#readsFunctionCalls = extras.readsFunctionCalls;
    const object = envelope.kind === 'chat' ? 'chat.completion.chunk' : 'text_completion';
    const { id, created, model, provider } = envelope;
    this.#head = `${JSON.stringify({ id, object, created, model, provider }).slice(0, -1)},"choices":`;
    this.#tail = withoutNulls({
      system_fingerprint: extras.systemFingerprint,
      service_tier: extras.serviceTier,
    });
    const [head = '', tail = ''] = textChoiceParts;
    this.#textHead = `data: ${this.#head}${head}`;
    this.#textTail = `${tail}${this.#tail}}\n\n`;
  }

  /**
   * The event of one chunk; the empty string when the chunk has no choices, or only hidden
   * reasoning.
   */
  chunk(chunk: ResponseChunk): string {
    const text = this.#kind === 'chat' && this.#begun[0] === true ? textOf(chunk.choices) : null;
    if (text !== null) return `${this.#textHead}${JSON.stringify(text)}${this.#textTail}`;
    const shown = this.#hidesReasoning
      ? chunk.choices
          .map(withoutReasoning)
          .filter(({ delta, finish_reason }) => finish_reason !== null || hasContent(delta))
      : chunk.choices;
    if (shown.length === 0) return '';
    return this.#event(this.#choices(shown), '');
  }

  /** The last event before the terminator: usage and cost. */
  usage(usage: object): string {
    // An old chat client reads choices[0].delta of every chunk; a text client needs no choice
    // (spec:compat/3.11,6.2).
    const choices = this.#choices(this.#kind === 'chat' ? [emptyChoice] : []);
    return this.#event(choices, `,"usage":${JSON.stringify(usage)}`);
  }

  /** An in-band error (spec:errors/6): the status has already been sent. */
  error(error: object): string {
    const failed: ChunkChoice = { ...emptyChoice, finish_reason: 'error', native_finish_reason: 'error' };
    return this.#event(this.#choices([failed]), `,"error":${JSON.stringify(error)}`);
  }

  #choices(choices: readonly ChunkChoice[]): string {
    if (this.#kind === 'text') return JSON.stringify(choices.map(textChoice));
    const written = choices.map((choice) => chatChunkChoice(choice, this.#roleOf(choice.index)));
    return JSON.stringify(
      this.#readsFunctionCalls ? written.map((choice) => withFunctionCall(choice, 'delta')) : written,
    );
  }

  /** Some clients concatenate the texts of all deltas, the role included (spec:compat/3.5). */
  #roleOf(index: number): { readonly role?: 'assistant' } {
    if (this.#begun[index] === true) return {};
    this.#begun[index] = true;
    return { role: 'assistant' };
  }

  #event(choices: string, rest: string): string {
    return sseEvent(`${this.#head}${choices}${this.#tail}${rest}}`);
  }
}

/** The body of a non-streamed response. */
export function wholeBody(
  envelope: Envelope,
  body: {
    readonly choices: readonly WholeChoice[];
    readonly usage: object;
    readonly systemFingerprint: string | null;
    readonly serviceTier: string | null;
    readonly readsFunctionCalls: boolean;
  },
): object {
  const { kind, id, created, model, provider } = envelope;
  return {
    id,
    object: kind === 'chat' ? 'chat.completion' : 'text_completion',
    created,
    model,
    provider,
    system_fingerprint: body.systemFingerprint,
    choices: body.choices
      .map(kind === 'chat' ? wholeChatChoice : wholeTextChoice)
      .map((choice) => (body.readsFunctionCalls ? withFunctionCall(choice, 'message') : choice)),
    usage: body.usage,
    ...(body.serviceTier === null ? {} : { service_tier: body.serviceTier }),
  };
}

const emptyChoice: ChunkChoice = {
  index: 0,
  delta: { content: '' },
  finish_reason: null,
  native_finish_reason: null,
  logprobs: null,
};

/** The choices of a chunk that only adds text, up to the text and behind it. */
const textChoiceParts = JSON.stringify([chatChunkChoice(emptyChoice, {})]).split('""');

/**
 * The text of a chunk that only adds text to the first choice; null for any other chunk. Nearly all
 * chunks do, and they are written without building their objects.
 */
function textOf(choices: readonly ChunkChoice[]): string | null {
  const [choice] = choices;
  if (choice === undefined || choices.length > 1 || choice.index !== 0) return null;
  if (choice.finish_reason !== null || choice.native_finish_reason !== null || choice.logprobs !== null)
    return null;
  for (const name in choice.delta) if (name !== 'content') return null;
  const { content = '' } = choice.delta;
  return content === '' ? null : content;
}

function chatChunkChoice(choice: ChunkChoice, role: object): object {
  return {
    index: choice.index,
    delta: { ...role, ...choice.delta, ...reasoningContent(choice.delta.reasoning) },
    finish_reason: choice.finish_reason,
    native_finish_reason: choice.native_finish_reason,
    logprobs: choice.logprobs,
  };
}

/** Reasoning under the name that DeepSeek introduced: many clients read and send back only that. */
export function reasoningContent(reasoning: string | undefined): { readonly reasoning_content?: string } {
  return reasoning === undefined ? {} : { reasoning_content: reasoning };
}

function textChoice(choice: ChunkChoice): object {
  return {
    text: choice.delta.content ?? '',
    index: choice.index,
    logprobs: choice.logprobs,
    finish_reason: choice.finish_reason,
    native_finish_reason: choice.native_finish_reason,
    ...(choice.delta.reasoning === undefined ? {} : { reasoning: choice.delta.reasoning }),
  };
}

function wholeChatChoice(choice: WholeChoice): object {
  return {
    index: choice.index,
    message: choice.message,
    finish_reason: choice.finishReason,
    native_finish_reason: choice.nativeFinishReason,
    logprobs: choice.logprobs,
  };
}

function wholeTextChoice(choice: WholeChoice): object {
  const { content, reasoning } = choice.message;
  return {
    text: typeof content === 'string' ? content : '',
    index: choice.index,
    logprobs: choice.logprobs,
    finish_reason: choice.finishReason,
    native_finish_reason: choice.nativeFinishReason,
    ...(typeof reasoning === 'string' ? { reasoning } : {}),
  };
}

/**
 * A choice for a client that sent `functions`: its first call is the `function_call`, the only one
 * that this form has.
 */
function withFunctionCall(choice: object, member: 'delta' | 'message'): object {
  const { [member]: content, finish_reason: reason, ...rest } = choice as Readonly<Record<string, unknown>>;
  const { tool_calls: calls, ...others } = content as { readonly tool_calls?: readonly ToolCallDelta[] };
  const first = calls?.find(({ index = 0 }) => index === 0);
  return {
    ...rest,
    [member]: { ...others, ...(first === undefined ? {} : { function_call: first.function }) },
    finish_reason: reason === 'tool_calls' ? 'function_call' : reason,
  };
}

function withoutNulls(fields: Readonly<Record<string, string | null>>): string {
  const stated = Object.entries(fields).filter(([, value]) => value !== null);
  return stated.map(([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`).join('');
}
