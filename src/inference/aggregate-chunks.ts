import { DroppedParts } from '../metering/response-totals.ts';
import type {
  ChunkChoice,
  Delta,
  FinishReason,
  ResponseChunk,
  ToolCallDelta,
  UsageClaim,
} from '../wire/chat.ts';
import { addDetail } from '../wire/reasoning-details.ts';
import { ToolCalls } from './tool-calls.ts';

/** The members of objects by name. A map: a member of an upstream may be named `__proto__`. */
type Members = Map<string, unknown>;

/**
 * A choice, as far as it was received. Its lists and members grow in place: a copy for each chunk
 * would cost time in the square of their number.
 */
interface AggregatedChoice {
  readonly index: number;
  /** The text. */
  readonly delta: { -readonly [K in 'content' | 'reasoning' | 'refusal']?: string };
  readonly lists: { [K in ListName]?: unknown[] };
  readonly calls: Map<number, ToolCallDelta>;
  finish: FinishReason | null;
  native: string | null;
  logprobs: Members | null;
}

type ListName = 'reasoning_details' | 'annotations';

/** The most entries of lists that an aggregated response has: some 200,000 tokens with log probabilities. */
const maxEntries = 200_000;

/** Aggregates the chunks of a stream into one response, for upstreams that stream unrequested. */
export class ChunkAggregator {
  readonly #toolCalls = new ToolCalls(null);
  readonly #choices = new Map<number, AggregatedChoice>();
  /** Entries of lists, those of objects included. */
  #entries = 0;
  #upstreamId: string | null = null;
  #systemFingerprint: string | null = null;
  #serviceTier: string | null = null;
  readonly #dropped = new DroppedParts();

  take(chunk: ResponseChunk): void {
    this.#upstreamId ??= chunk.upstreamId;
    this.#systemFingerprint ??= chunk.systemFingerprint;
    this.#serviceTier = chunk.serviceTier ?? this.#serviceTier;
    this.#dropped.take(chunk);
    for (const choice of this.#toolCalls.ordered(chunk).choices) this.#add(choice);
  }

  /** Whether there are more tool calls, or more entries of lists, than any response has. */
  get isTooLarge(): boolean {
    return this.#toolCalls.areTooMany || this.#entries > maxEntries;
  }

  /** The response so far, as one chunk with this usage. */
  whole(usage: UsageClaim | null): ResponseChunk {
    return {
      choices: [...this.#choices.values()].sort((a, b) => a.index - b.index).map(choiceOf),
      usage,
      upstreamId: this.#upstreamId,
      systemFingerprint: this.#systemFingerprint,
      serviceTier: this.#serviceTier,
      dropped: this.#dropped.kinds,
    };
  }

  #add({ index, delta, finish_reason, native_finish_reason, logprobs }: ChunkChoice): void {
    const known = this.#choices.get(index);
    const aggregated = known ?? emptyChoice(index);
    if (known === undefined) this.#choices.set(index, aggregated);
    this.#entries += addDelta(aggregated, delta);
    aggregated.finish = finish_reason ?? aggregated.finish;
    aggregated.native = native_finish_reason ?? aggregated.native;
    if (logprobs !== null) {
      aggregated.logprobs ??= new Map();
      this.#entries += addLogprobs(aggregated.logprobs, logprobs);
    }
  }
}

function emptyChoice(index: number): AggregatedChoice {
  return {
    index,
    delta: {},
    lists: {},
    calls: new Map(),
    finish: null,
    native: null,
    logprobs: null,
  };
}

/** Returns the number of entries that it added. */
function addDelta(aggregated: AggregatedChoice, delta: Delta): number {
  let entries = 0;
  const { delta: into, lists, calls } = aggregated;
  for (const name of ['content', 'reasoning', 'refusal'] as const) {
    const more = delta[name];
    if (more !== undefined) into[name] = (into[name] ?? '') + more;
  }
  for (const call of delta.tool_calls ?? []) calls.set(call.index, joined(calls.get(call.index), call));
  if (delta.reasoning_details !== undefined) {
    lists.reasoning_details ??= [];
    const { length } = lists.reasoning_details;
    for (const detail of delta.reasoning_details) addDetail(lists.reasoning_details, detail);
    entries += lists.reasoning_details.length - length;
  }
  if (delta.annotations !== undefined) {
    lists.annotations ??= [];
    for (const annotation of delta.annotations) lists.annotations.push(annotation);
    entries += delta.annotations.length;
  }
  return entries;
}

function choiceOf(aggregated: AggregatedChoice): ChunkChoice {
  const { index, delta, lists, calls, finish, native, logprobs } = aggregated;
  return {
    index,
    delta: {
      ...delta,
      ...lists,
      ...(calls.size === 0 ? {} : { tool_calls: [...calls.values()] }),
    },
    finish_reason: finish,
    native_finish_reason: native,
    logprobs: logprobs === null ? null : Object.fromEntries(logprobs),
  };
}

function joined(known: ToolCallDelta | undefined, call: ToolCallDelta): ToolCallDelta {
  if (known === undefined) return call;
  const args = (known.function.arguments ?? '') + (call.function.arguments ?? '');
  // `ToolCalls` passes one name of a call.
  return { ...known, function: { ...known.function, ...call.function, arguments: args } };
}

/**
 * Log probabilities are objects of lists; each chunk continues the lists. Returns the number of
 * entries that it added.
 */
function addLogprobs(known: Members, more: object): number {
  let entries = 0;
  for (const [name, value] of Object.entries(more) as readonly (readonly [string, unknown])[]) {
    const before = known.get(name);
    entries += Array.isArray(value) ? value.length : Number(before === undefined);
    if (!Array.isArray(value)) known.set(name, value);
    // A list of its own: that of the chunk must not grow.
    else if (!Array.isArray(before)) known.set(name, [...value]);
    else for (const each of value) before.push(each);
  }
  return entries;
}
