import type { AnswerChunk, ChunkChoice, FinishReason, ToolCallDelta } from '../wire/chat.ts';

/** The id of a tool call to which its upstream gave none: no other call of any answer has it. */
export function callIdOf(generationId: string, choice: number, index: number): string {
  return `call_${generationId}_${choice === 0 ? '' : `${choice}_`}${index}`;
}

/** Why a choice ended whose upstream is done and gave no reason. */
export function reasonFor(hasCalls: boolean): FinishReason {
  return hasCalls ? 'tool_calls' : 'stop';
}

/** A tool call as far as it has been told. */
interface SentCall {
  readonly index: number;
  readonly id: string | null;
  args: string;
}

/**
 * Puts the tool calls of a stream in order, so that a client that folds them by index and answers them by id can: a call that
 * begins at the index of another gets one of its own, and one that begins without an id gets that too. Chunks without tool calls
 * pass as they are.
 */
export class ToolCalls {
  readonly #generationId: string | null;
  /** The latest call at each index of the upstream, by choice. */
  #latest: Map<string, SentCall> | null = null;
  /** How many calls each choice has. */
  #counts: Map<number, number> | null = null;

  /** Calls that have no id get one of this generation; null leaves them without. */
  constructor(generationId: string | null) {
    this.#generationId = generationId;
  }

  /** Whether a choice has called any tool. */
  hasCalls(choice: number): boolean {
    return this.#counts?.has(choice) === true;
  }

  ordered(chunk: AnswerChunk): AnswerChunk {
    if (!chunk.choices.some((choice) => choice.delta.tool_calls !== undefined)) return chunk;
    return { ...chunk, choices: chunk.choices.map((choice) => this.#choice(choice)) };
  }

  #choice(choice: ChunkChoice): ChunkChoice {
    const { tool_calls: calls } = choice.delta;
    if (calls === undefined) return choice;
    return {
      ...choice,
      delta: { ...choice.delta, tool_calls: calls.map((call) => this.#call(choice.index, call)) },
    };
  }

  #call(choice: number, call: ToolCallDelta): ToolCallDelta {
    const place = `${choice}/${call.index}`;
    const args = call.function.arguments ?? '';
    const known = this.#latest?.get(place);
    if (known !== undefined && !isAnother(known, call)) {
      known.args += args;
      // Said again, the id and the name would be appended by clients that add up what comes.
      return { index: known.index, function: { arguments: args } };
    }
    const index = this.#counts?.get(choice) ?? 0;
    this.#counts ??= new Map();
    this.#counts.set(choice, index + 1);
    this.#latest ??= new Map();
    this.#latest.set(place, { index, id: call.id ?? null, args });
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

/** Whether a delta at the index of a known call begins another: it is named, and has another id or follows complete arguments. */
function isAnother(known: SentCall, { id, function: called }: ToolCallDelta): boolean {
  if (called.name === undefined) return false;
  if (id !== undefined && known.id !== null) return id !== known.id;
  return isJson(known.args);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
