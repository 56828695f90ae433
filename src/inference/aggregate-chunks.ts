import type {
  ChunkChoice,
  Delta,
  FinishReason,
  ResponseChunk,
  ToolCallDelta,
  UsageClaim,
} from '../wire/chat.ts';
import { joinDetails } from '../wire/reasoning-details.ts';
import { ToolCalls } from './tool-calls.ts';

/** A choice, as far as it was received. */
interface AggregatedChoice {
  readonly index: number;
  delta: { -readonly [K in keyof Delta]: Delta[K] };
  readonly calls: Map<number, ToolCallDelta>;
  finish: FinishReason | null;
  native: string | null;
  logprobs: Readonly<Record<string, unknown>> | null;
}

/** Aggregates the chunks of a stream into one response, for upstreams that stream unrequested. */
export class ChunkAggregator {
  readonly #toolCalls = new ToolCalls(null);
  readonly #choices = new Map<number, AggregatedChoice>();
  #usage: UsageClaim | null = null;
  #upstreamId: string | null = null;
  #systemFingerprint: string | null = null;
  #serviceTier: string | null = null;

  take(chunk: ResponseChunk): void {
    this.#usage = chunk.usage ?? this.#usage;
    this.#upstreamId ??= chunk.upstreamId;
    this.#systemFingerprint ??= chunk.systemFingerprint;
    this.#serviceTier ??= chunk.serviceTier;
    for (const choice of this.#toolCalls.ordered(chunk).choices) this.#add(choice);
  }

  /** The response so far, as one chunk. */
  whole(): ResponseChunk {
    return {
      choices: [...this.#choices.values()].sort((a, b) => a.index - b.index).map(choiceOf),
      usage: this.#usage,
      upstreamId: this.#upstreamId,
      systemFingerprint: this.#systemFingerprint,
      serviceTier: this.#serviceTier,
    };
  }

  #add({ index, delta, finish_reason, native_finish_reason, logprobs }: ChunkChoice): void {
    const known = this.#choices.get(index);
    const aggregated: AggregatedChoice = known ?? {
      index,
      delta: {},
      calls: new Map(),
      finish: null,
      native: null,
      logprobs: null,
    };
    if (known === undefined) this.#choices.set(index, aggregated);
    const { content, reasoning, refusal, tool_calls: calls, audio, ...lists } = delta;
    const into = aggregated.delta;
    if (content !== undefined) into.content = (into.content ?? '') + content;
    if (reasoning !== undefined) into.reasoning = (into.reasoning ?? '') + reasoning;
    if (refusal !== undefined) into.refusal = (into.refusal ?? '') + refusal;
    if (audio !== undefined) into.audio = { ...into.audio, ...audio };
    const { reasoning_details: details } = lists;
    if (details !== undefined)
      into.reasoning_details = joinDetails([...(into.reasoning_details ?? []), ...details]);
    for (const name of ['images', 'annotations'] as const) {
      const more = lists[name];
      if (more !== undefined) into[name] = [...(into[name] ?? []), ...more];
    }
    for (const call of calls ?? [])
      aggregated.calls.set(call.index, joined(aggregated.calls.get(call.index), call));
    aggregated.finish = finish_reason ?? aggregated.finish;
    aggregated.native = native_finish_reason ?? aggregated.native;
    if (logprobs !== null)
      aggregated.logprobs = longer(aggregated.logprobs, logprobs as Readonly<Record<string, unknown>>);
  }
}

function choiceOf({ index, delta, calls, finish, native, logprobs }: AggregatedChoice): ChunkChoice {
  return {
    index,
    delta: calls.size === 0 ? delta : { ...delta, tool_calls: [...calls.values()] },
    finish_reason: finish,
    native_finish_reason: native,
    logprobs,
  };
}

function joined(known: ToolCallDelta | undefined, call: ToolCallDelta): ToolCallDelta {
  if (known === undefined) return call;
  const args = (known.function.arguments ?? '') + (call.function.arguments ?? '');
  return { ...known, function: { ...known.function, arguments: args } };
}

/** Log probabilities are objects of lists; each chunk continues the lists. */
function longer(
  known: Readonly<Record<string, unknown>> | null,
  more: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const lists = Object.entries(more).map(([name, value]) => {
    const before = known?.[name];
    return [name, Array.isArray(before) && Array.isArray(value) ? [...before, ...value] : value] as const;
  });
  return { ...known, ...Object.fromEntries(lists) };
}
