import { type FinishReason, hasContent, type ResponseChunk, type UsageClaim } from '../wire/chat.ts';
import type { CountTexts } from './count-tokens.ts';
import { type ClaimBounds, isPlausible, type Received } from './reconcile-usage.ts';

/** Text beyond this, in UTF-16 units, is not a response: some eight million tokens. */
const maxResponseLength = 32 * 1024 * 1024;
/** Text after the end is part of the response up to this length. */
export const maxAfterEnd = 1024 * 1024;

const maxDroppedKinds = 16;

/** Accumulates a response as it passes, so that a truncated one can still be priced. */
export class ResponseTotals {
  /**
   * The usage that the upstream reported; null until then, possibly forever. A plausible one is
   * replaced only by another.
   */
  claim: UsageClaim | null = null;
  finishReason: FinishReason | null = null;
  nativeFinishReason: string | null = null;
  /** Whether a choice ended with a reason of which nothing is known. */
  hasUnknownFinish = false;
  upstreamId: string | null = null;
  /** The one that was reported last: it may differ from what was requested. */
  serviceTier: string | null = null;
  systemFingerprint: string | null = null;
  /** All text that passed: contents, reasoning, refusals and the arguments of tool calls. */
  readonly text: ResponseText;
  /** Whether there was any content: then a client that disconnects is billed. */
  hasContent = false;
  readonly dropped = new DroppedParts();
  /** Ids of tool calls are kept as long as the response, but are no text. */
  #idsLength = 0;
  /** The length of the text when the response was first complete. */
  #endedAt: number | null = null;
  #hasUsageAtEnd = false;
  readonly #seen = new Indices();
  readonly #finished = new Indices();
  readonly #bounds: ClaimBounds;

  /** `bounds` decides which claims are plausible; without `count` the text is only measured. */
  constructor(bounds: ClaimBounds, count: CountTexts | null) {
    this.#bounds = bounds;
    this.text = new ResponseText(count);
  }

  take(chunk: ResponseChunk): void {
    this.upstreamId ??= chunk.upstreamId;
    this.serviceTier = chunk.serviceTier ?? this.serviceTier;
    this.systemFingerprint ??= chunk.systemFingerprint;
    this.dropped.take(chunk);
    for (const { index, delta, finish_reason, native_finish_reason } of chunk.choices) {
      this.#seen.add(index);
      this.hasContent ||= hasContent(delta);
      if (delta.content !== undefined) this.text.add(delta.content);
      if (delta.reasoning !== undefined) this.text.add(delta.reasoning);
      if (delta.refusal !== undefined) this.text.add(delta.refusal);
      for (const call of delta.tool_calls ?? []) {
        this.text.add((call.function.name ?? '') + (call.function.arguments ?? ''));
        this.#idsLength += call.id?.length ?? 0;
      }
      this.nativeFinishReason = native_finish_reason ?? this.nativeFinishReason;
      if (finish_reason === null) {
        this.hasUnknownFinish ||= native_finish_reason !== null;
        continue;
      }
      this.#finished.add(index);
      this.finishReason = finish_reason;
    }
    if (this.#endedAt === null && this.isComplete) this.#endedAt = this.text.length;
    // Earlier usage covers a part of the response: some upstreams send it with every chunk.
    this.#hasUsageAtEnd ||= chunk.usage !== null && this.isComplete;
    if (chunk.usage !== null && (this.claim === null || !this.#isBetter(this.claim, chunk.usage)))
      this.claim = chunk.usage;
  }

  /** What a claim for the response so far is compared with. */
  get received(): Received {
    return this.#bounds.of(this.text.bytes);
  }

  /** Whether an earlier claim is plausible and the later one is not. */
  #isBetter(earlier: UsageClaim, later: UsageClaim): boolean {
    const { received } = this;
    return !isPlausible(later, received) && isPlausible(earlier, received);
  }

  /** Whether there was more text, or more ids of tool calls, than any response has. */
  get isTooLong(): boolean {
    if (this.#idsLength > maxResponseLength) return true;
    return this.text.length > (this.#endedAt === null ? maxResponseLength : this.#endedAt + maxAfterEnd);
  }

  /** Whether the usage came with the end of the response or after it. */
  get hasUsageAtEnd(): boolean {
    return this.#hasUsageAtEnd;
  }

  /**
   * Whether every choice that started has finished: an upstream may return fewer than requested.
   */
  get isComplete(): boolean {
    return this.#finished.size > 0 && this.#finished.size >= this.#seen.size;
  }

  /** The choices that started and did not finish. */
  get unfinished(): readonly number[] {
    return this.#seen.without(this.#finished);
  }

  /** Whether this many choices have finished. */
  hasFinished(choices: number): boolean {
    return this.#finished.size >= choices;
  }
}

/** The kinds of parts of a response that were not passed on, each once, up to 16 (spec:api/14.6). */
export class DroppedParts {
  #kinds: Set<string> | null = null;

  take({ dropped }: ResponseChunk): void {
    for (const kind of dropped ?? []) {
      this.#kinds ??= new Set();
      if (this.#kinds.size < maxDroppedKinds) this.#kinds.add(kind);
    }
  }

  get kinds(): readonly string[] {
    return [...(this.#kinds ?? [])];
  }
}

/** Different indices of choices. Nearly every response has only the first, and needs no set. */
class Indices {
  #hasFirst = false;
  #others: Set<number> | null = null;

  add(index: number): void {
    if (index === 0) this.#hasFirst = true;
    else {
      this.#others ??= new Set();
      this.#others.add(index);
    }
  }

  get size(): number {
    return Number(this.#hasFirst) + (this.#others?.size ?? 0);
  }

  without(taken: Indices): readonly number[] {
    const rest = [...(this.#others ?? [])].filter((index) => taken.#others?.has(index) !== true);
    return this.#hasFirst && !taken.#hasFirst ? [0, ...rest] : rest;
  }
}

/**
 * Long text is counted in pieces of this many UTF-16 units: whole windows of the tokenizer, so that
 * the sum is the count of the whole text.
 */
const pieceLength = 65_536;

/**
 * The text of a response: its size and its tokens. A long one is counted as it passes, and only its
 * end is kept: a response may have 32 Mi units, and a stream of it may last for an hour.
 */
export class ResponseText {
  readonly #count: CountTexts | null;
  /** UTF-16 units. */
  #length = 0;
  /** UTF-8 bytes. */
  #bytes = 0;
  /** What is not counted yet. */
  #end = '';
  #tokens = 0;

  /** Without `count` the text is only measured. */
  constructor(count: CountTexts | null) {
    this.#count = count;
  }

  get length(): number {
    return this.#length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(text: string): void {
    this.#length += text.length;
    this.#bytes += Buffer.byteLength(text);
    if (this.#count !== null) this.#end += text;
  }

  /** Counts what is long enough, and drops it. Null: nothing is; no text is added meanwhile. */
  countPieces(): Promise<void> | null {
    const wholeLength = this.#end.length - (this.#end.length % pieceLength);
    if (wholeLength === 0 || this.#count === null) return null;
    const whole = this.#end.slice(0, wholeLength);
    // A slice would keep the text that it is a part of.
    this.#end = Buffer.from(this.#end.slice(wholeLength), 'utf16le').toString('utf16le');
    return this.#count([whole]).then((tokens) => {
      this.#tokens += tokens;
    });
  }

  /** Our own count of all text. */
  async tokens(): Promise<number> {
    return this.#tokens + ((await this.#count?.([this.#end])) ?? 0);
  }
}
