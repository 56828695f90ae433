import {
  type Delta,
  type FinishReason,
  maxToolCalls,
  type ResponseChunk,
  type ToolCallDelta,
  type UsageClaim,
} from '../../wire/chat.ts';
import { joinDetails, type ReasoningDetail } from '../../wire/reasoning-details.ts';
import { type DecodedEvent, shortName } from '../dialect.ts';
import { finishReasonOf } from '../finish-reasons.ts';
import { errorEventOf, isNews } from './errors.ts';
import type { ProviderQuirks, ReportedService } from './provider-quirks.ts';
import type { Finish, Metadata, StreamPart, UsageReport, WholeResult } from './types.ts';

/** The response that is read, and how. */
export interface ReaderOf {
  readonly quirks: ProviderQuirks;
  readonly model: string;
  /** Whether reasoning is passed on. */
  readonly showsReasoning: boolean;
  /** The id in the response headers; null when there is none. */
  readonly upstreamId: string | null;
}

/**
 * Translates the parts of one response. A non-streamed response is read as the parts of a stream.
 */
export class PartReader {
  readonly #of: ReaderOf;
  #upstreamId: string | null;
  /** Reasoning by the block that it streams in; each block is an entry of its own. */
  readonly #reasoningIndices = new Map<string, number>();
  #details = 0;
  #thought = false;
  readonly #calls = new Map<string, { readonly index: number; hasArguments: boolean }>();

  constructor(of: ReaderOf) {
    this.#of = of;
    this.#upstreamId = of.upstreamId;
  }

  /** The events of a part of a stream; none when it has nothing that we pass on. */
  read(part: StreamPart): readonly DecodedEvent[] {
    switch (part.type) {
      case 'response-metadata':
        this.#setUpstreamId(part.id);
        return [];
      case 'text-delta':
        return this.#hasContent(this.#text(part.delta, part.providerMetadata));
      case 'reasoning-start':
      case 'reasoning-end':
        return this.#hasContent(this.#seal(part.id, part.providerMetadata));
      case 'reasoning-delta':
        return this.#hasContent(this.#think(part.id, part.delta, part.providerMetadata));
      case 'tool-input-start':
        if (part.providerExecuted === true) return [];
        return this.#hasContent(this.#beginCall(part.id, part.toolName, part.providerMetadata));
      case 'tool-input-delta':
        return this.#hasContent(this.#continueCall(part.id, part.delta));
      case 'tool-call':
        if (part.providerExecuted === true) return [];
        return this.#hasContent(this.#endCall(part));
      case 'file':
      case 'source':
      case 'tool-result':
        return [chunkEventOf({ ...this.#chunk({}, null, null), dropped: [part.type] })];
      case 'finish':
        return this.#finish(part.finishReason, part.usage, part.providerMetadata);
      case 'error':
        return isNews(part.error, this.#of.quirks) ? [] : [errorEventOf(part.error)];
      default:
        return [];
    }
  }

  /** A non-streamed response, as one chunk. */
  readWhole({ content, finishReason, usage, response, providerMetadata }: WholeResult): DecodedEvent {
    if (!isAtEnd(finishReason)) return { kind: 'malformed', reason: 'an incomplete response' };
    if (content.filter(({ type }) => type === 'tool-call').length > maxToolCalls)
      return { kind: 'malformed', reason: 'too many tool calls' };
    this.#setUpstreamId(response?.id);
    const dropped: string[] = [];
    const deltas = content.flatMap((part, position): readonly (Delta | null)[] => {
      switch (part.type) {
        case 'text':
          return [this.#text(part.text, part.providerMetadata)];
        case 'reasoning':
          return [this.#think(String(position), part.text, part.providerMetadata)];
        case 'tool-call':
          return part.providerExecuted === true ? [] : [this.#endCall(part)];
        default:
          dropped.push(part.type);
          return [];
      }
    });
    const delta = joinDeltas(deltas.filter((each) => each !== null));
    const service = this.#of.quirks.reported(providerMetadata ?? {});
    const chunk = this.#chunk(delta, finishReason, this.#claim(usage, service), service);
    return chunkEventOf(dropped.length === 0 ? chunk : { ...chunk, dropped });
  }

  #setUpstreamId(id: string | undefined): void {
    if (id !== undefined) this.#upstreamId = shortName(id);
  }

  #hasContent(delta: Delta | null): readonly DecodedEvent[] {
    return delta === null ? [] : [chunkEventOf(this.#chunk(delta, null, null))];
  }

  #chunk(
    delta: Delta,
    finish: Finish | null,
    usage: UsageClaim | null,
    service?: ReportedService,
  ): ResponseChunk {
    const reason = finish === null ? null : reasonOf(finish);
    return {
      choices: [
        {
          index: 0,
          delta,
          finish_reason: reason,
          native_finish_reason: finish?.raw === undefined ? reason : shortName(finish.raw),
          logprobs: null,
        },
      ],
      usage,
      upstreamId: this.#upstreamId,
      systemFingerprint: null,
      serviceTier: typeof service?.tier === 'string' ? shortName(service.tier) : null,
    };
  }

  #text(content: string, metadata: Metadata | undefined): Delta | null {
    const { signature } = this.#provenance(metadata);
    const details = signature === null ? [] : this.#detail({ type: 'reasoning.encrypted', data: signature });
    return content === '' && details.length === 0
      ? null
      : { ...(content === '' ? {} : { content }), ...shown(details) };
  }

  #think(block: string, text: string, metadata: Metadata | undefined): Delta | null {
    const { signature, encrypted } = this.#provenance(metadata);
    this.#thought = true;
    if (!this.#of.showsReasoning) return null;
    if (encrypted !== null) return this.#seal(block, metadata);
    if (text === '' && signature === null) return null;
    const index = this.#reasoningIndices.get(block) ?? this.#details++;
    this.#reasoningIndices.set(block, index);
    const detail: ReasoningDetail = {
      type: 'reasoning.text',
      ...(text === '' ? {} : { text }),
      ...(signature === null ? {} : { signature }),
      format: this.#of.quirks.format(this.#of.model),
      index,
    };
    return { ...(text === '' ? {} : { reasoning: text }), reasoning_details: [detail] };
  }

  /** Reasoning that only its provider can read. */
  #seal(block: string, metadata: Metadata | undefined): Delta | null {
    const { encrypted } = this.#provenance(metadata);
    if (encrypted === null || this.#reasoningIndices.has(block)) return null;
    this.#thought = true;
    const details = this.#detail({ type: 'reasoning.encrypted', data: encrypted });
    return details.length === 0 ? null : { reasoning_details: details };
  }

  #beginCall(id: string, name: string, metadata: Metadata | undefined): Delta {
    const { signature } = this.#provenance(metadata);
    const details =
      signature === null ? [] : this.#detail({ type: 'reasoning.encrypted', data: signature, id });
    const index = this.#calls.size;
    this.#calls.set(id, { index, hasArguments: false });
    const call: ToolCallDelta = { index, id, type: 'function', function: { name, arguments: '' } };
    return { tool_calls: [call], ...shown(details) };
  }

  #continueCall(id: string, args: string): Delta | null {
    const call = this.#calls.get(id);
    if (call === undefined || args === '') return null;
    call.hasArguments = true;
    return { tool_calls: [{ index: call.index, function: { arguments: args } }] };
  }

  /** A call whose arguments were not streamed has them here. */
  #endCall(part: {
    readonly toolCallId: string;
    readonly toolName: string;
    readonly input: string;
    readonly providerMetadata?: Metadata;
  }): Delta | null {
    const { toolCallId: id, toolName: name, input, providerMetadata } = part;
    if (this.#calls.get(id)?.hasArguments === true) return null;
    const begun = this.#calls.has(id) ? {} : this.#beginCall(id, name, providerMetadata);
    const rest = this.#continueCall(id, input === '' ? '{}' : input);
    return joinDeltas([begun, ...(rest === null ? [] : [rest])]);
  }

  #finish(reason: Finish, usage: UsageReport, metadata: Metadata = {}): readonly DecodedEvent[] {
    if (!isAtEnd(reason)) return [];
    const service = this.#of.quirks.reported(metadata);
    return [chunkEventOf(this.#chunk({}, reason, this.#claim(usage, service), service)), { kind: 'done' }];
  }

  #claim({ inputTokens, outputTokens }: UsageReport, { cacheWrite1h }: ReportedService): UsageClaim {
    return {
      promptTokens: inputTokens.total,
      completionTokens: outputTokens.total,
      reasoningTokens: outputTokens.reasoning,
      cacheReadTokens: inputTokens.cacheRead,
      cacheWriteTokens: inputTokens.cacheWrite,
      cacheWrite1hTokens: cacheWrite1h,
      ...(this.#thought && outputTokens.reasoning === undefined ? { uncountedReasoning: true } : {}),
    };
  }

  #detail(detail: Pick<ReasoningDetail, 'type' | 'data' | 'id'>): readonly ReasoningDetail[] {
    if (!this.#of.showsReasoning) return [];
    return [{ ...detail, format: this.#of.quirks.format(this.#of.model), index: this.#details++ }];
  }

  #provenance(metadata: Metadata | undefined): {
    readonly signature: string | null;
    readonly encrypted: string | null;
  } {
    if (metadata === undefined) return { signature: null, encrypted: null };
    const { signature, encrypted } = this.#of.quirks.provenance(metadata);
    return { signature: nonEmpty(signature), encrypted: nonEmpty(encrypted) };
  }
}

function chunkEventOf(chunk: ResponseChunk): DecodedEvent {
  return { kind: 'chunk', chunk, keptLength: 0 };
}

/** A response that stopped without a reason is not complete. */
function isAtEnd({ unified, raw }: Finish): boolean {
  return unified !== 'interrupted' && (unified !== 'other' || raw !== undefined);
}

/** A package's reason, unless the upstream's own says that the answer is not complete. */
function reasonOf({ unified, raw }: Finish): FinishReason | null {
  const native = raw === undefined ? null : finishReasonOf(raw);
  if (native === 'error' || native === 'content_filter' || native === 'length') return native;
  switch (unified) {
    case 'content-filter':
      return 'content_filter';
    case 'tool-calls':
      return 'tool_calls';
    case 'stop':
    case 'length':
    case 'error':
      return unified;
    case 'interrupted':
    case 'other':
      return native;
  }
}

function nonEmpty(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** Merges deltas into one. */
export function joinDeltas(deltas: readonly Delta[]): Delta {
  const texts = (member: 'content' | 'reasoning'): object => {
    const stated = deltas.flatMap((delta) => delta[member] ?? []);
    return stated.length === 0 ? {} : { [member]: stated.join('') };
  };
  const calls = new Map<number, ToolCallDelta>();
  for (const call of deltas.flatMap((delta) => delta.tool_calls ?? [])) {
    const begun = calls.get(call.index);
    const args = `${begun?.function.arguments ?? ''}${call.function.arguments ?? ''}`;
    calls.set(call.index, {
      ...begun,
      ...call,
      function: { ...begun?.function, ...call.function, arguments: args },
    });
  }
  const details = deltas.flatMap((delta) => (delta.reasoning_details ?? []) as readonly ReasoningDetail[]);
  return {
    ...texts('content'),
    ...texts('reasoning'),
    ...shown(joinDetails(details)),
    ...(calls.size === 0 ? {} : { tool_calls: [...calls.values()] }),
  };
}

/** The entries as a member of a delta; absent when there are none. */
export function shown(details: readonly ReasoningDetail[]): {
  readonly reasoning_details?: readonly ReasoningDetail[];
} {
  return details.length === 0 ? {} : { reasoning_details: details };
}
