import {
  type ChunkChoice,
  type FinishReason,
  maxToolCalls,
  type ResponseChunk,
  type ToolCallDelta,
} from '../wire/chat.ts';
import { JsonRecognizer } from '../wire/json-recognizer.ts';

/** The id of a tool call that has none from its upstream; unique over all responses. */
export function callIdOf(generationId: string, choice: number, index: number): string {
  return `call_${generationId}_${choice === 0 ? '' : `${choice}_`}${index}`;
}

/** The finish reason of a choice that ended without one. */
export function reasonFor(hasCalls: boolean): FinishReason {
  return hasCalls ? 'tool_calls' : 'stop';
}

/** A tool call, as far as it was received. */
interface SentCall {
  readonly index: number;
  readonly id: string | null;
  /** Whether its name was sent: some upstreams start a call without it. */
  isNamed: boolean;
  /** The arguments that `recognizer` has not read yet: it reads them when a name follows. */
  unread: string;
  /** Null until a name follows. */
  recognizer: JsonRecognizer | null;
}

/**
 * Gives the tool calls of a stream distinct indexes and ids, so that a client can aggregate them by
 * index and reply to them by id. A call that begins at the index of another gets an index of its
 * own, and one without an id gets an id. Chunks without tool calls are returned unchanged.
 */
export class ToolCalls {
  readonly #generationId: string | null;
  /** The latest call at each index of the upstream, by choice. */
  #latest: Map<string, SentCall> | null = null;
  /** How many calls each choice has. */
  #counts: Map<number, number> | null = null;
  #total = 0;

  /** Calls without an id get one of this generation; null leaves them without. */
  constructor(generationId: string | null) {
    this.#generationId = generationId;
  }

  /** Whether there are more calls than any response has. */
  get areTooMany(): boolean {
    return this.#total > maxToolCalls;
  }

  /** Whether a choice has called any tool. */
  hasCalls(choice: number): boolean {
    return this.#counts?.has(choice) === true;
  }

  ordered(chunk: ResponseChunk): ResponseChunk {
    if (!chunk.choices.some((choice) => this.#isOfCalls(choice))) return chunk;
    return { ...chunk, choices: chunk.choices.map((choice) => this.#choice(choice)) };
  }

  #isOfCalls({ index, delta, finish_reason: reason }: ChunkChoice): boolean {
    return delta.tool_calls !== undefined || (reason === 'stop' && this.hasCalls(index));
  }

  #choice(choice: ChunkChoice): ChunkChoice {
    const { tool_calls: calls } = choice.delta;
    // Some engines stop after calls, without naming them as the reason.
    const isEnd = choice.finish_reason === 'stop' && (calls !== undefined || this.hasCalls(choice.index));
    const finish_reason = isEnd ? 'tool_calls' : choice.finish_reason;
    if (calls === undefined) return { ...choice, finish_reason };
    return {
      ...choice,
      finish_reason,
      delta: { ...choice.delta, tool_calls: calls.map((call) => this.#call(choice.index, call)) },
    };
  }

  #call(choice: number, call: ToolCallDelta): ToolCallDelta {
    const name = `${choice}/${call.index}`;
    const args = call.function.arguments ?? '';
    const known = this.#latest?.get(name);
    if (known !== undefined && !isAnother(known, call)) {
      known.unread += args;
      return { index: known.index, function: { ...firstName(known, call), arguments: args } };
    }
    const index = this.#counts?.get(choice) ?? 0;
    this.#counts ??= new Map();
    this.#counts.set(choice, index + 1);
    this.#total += 1;
    this.#latest ??= new Map();
    const isNamed = call.function.name !== undefined;
    this.#latest.set(name, { index, id: call.id ?? null, isNamed, unread: args, recognizer: null });
    const id = call.id ?? this.#idOf(choice, index);
    return {
      index,
      ...(id === undefined ? {} : { id }),
      type: 'function',
      function: { ...call.function, arguments: args },
    };
  }

  #idOf(choice: number, index: number): string | undefined {
    return this.#generationId === null ? undefined : callIdOf(this.#generationId, choice, index);
  }
}

/**
 * The name in a delta of a call that has none yet. Clients that concatenate members would append a
 * repeated name, as they would a repeated id.
 */
function firstName(known: SentCall, { function: { name } }: ToolCallDelta): { readonly name?: string } {
  if (known.isNamed || name === undefined) return {};
  known.isNamed = true;
  return { name };
}

/**
 * Whether a delta at the index of a known call begins another: it is named, and has another id or
 * follows complete arguments. A name alone is that of a call without one.
 */
function isAnother(known: SentCall, { id, function: called }: ToolCallDelta): boolean {
  if (called.name === undefined) return false;
  if (id !== undefined && known.id !== null) return id !== known.id;
  if (!known.isNamed && (called.arguments ?? '') === '') return false;
  return hasCompleteArguments(known);
}

/** Reads all arguments once, although some upstreams repeat the name with each delta. */
function hasCompleteArguments(known: SentCall): boolean {
  known.recognizer ??= new JsonRecognizer();
  known.recognizer.push(known.unread);
  known.unread = '';
  return known.recognizer.isComplete;
}
