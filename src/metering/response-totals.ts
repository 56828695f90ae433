import { type AnswerChunk, type FinishReason, hasContent, type UsageClaim } from '../wire/chat.ts';

/** Words beyond this, in UTF-16 units, are no answer: some eight million tokens. */
const maxResponseLength = 32 * 1024 * 1024;
/** What is said after the end is part of the answer up to this length. */
export const maxAfterEnd = 1024 * 1024;

/** Keeps account of an answer as it passes, so that one cut short can still be priced. */
export class ResponseTotals {
  /** What the upstream said it used, the last time it said so; null until then, which may be for ever. */
  claim: UsageClaim | null = null;
  finishReason: FinishReason | null = null;
  nativeFinishReason: string | null = null;
  upstreamId: string | null = null;
  serviceTier: string | null = null;
  systemFingerprint: string | null = null;
  /** Every word that passed: contents, thoughts, refusals and the arguments of tool calls. */
  text = '';
  /** Whether anything was said beside the end: then a client that leaves is not served for nothing. */
  hasContent = false;
  /** Images of the answer, and one for its recording. */
  mediaParts = 0;
  #hasAudio = false;
  /** How long the text was when the answer was complete for the first time. */
  #endedAt: number | null = null;
  #hasUsageAtEnd = false;
  readonly #seen = new Indices();
  readonly #finished = new Indices();

  take(chunk: AnswerChunk): void {
    this.claim = chunk.usage ?? this.claim;
    this.upstreamId ??= chunk.upstreamId;
    this.serviceTier ??= chunk.serviceTier;
    this.systemFingerprint ??= chunk.systemFingerprint;
    for (const { index, delta, finish_reason, native_finish_reason } of chunk.choices) {
      this.#seen.add(index);
      this.hasContent ||= hasContent(delta);
      this.mediaParts += (delta.images?.length ?? 0) + Number(delta.audio !== undefined && !this.#hasAudio);
      this.#hasAudio ||= delta.audio !== undefined;
      if (delta.content !== undefined) this.text += delta.content;
      if (delta.reasoning !== undefined) this.text += delta.reasoning;
      if (delta.refusal !== undefined) this.text += delta.refusal;
      for (const call of delta.tool_calls ?? [])
        this.text += (call.function.name ?? '') + (call.function.arguments ?? '');
      if (finish_reason === null) continue;
      this.#finished.add(index);
      this.finishReason = finish_reason;
      this.nativeFinishReason = native_finish_reason;
    }
    if (this.#endedAt === null && this.isComplete) this.#endedAt = this.text.length;
    // Usage that came before belongs to a part of the answer: some send it with every chunk.
    this.#hasUsageAtEnd ||= chunk.usage !== null && this.isComplete;
  }

  /** Whether more was said than belongs to any answer. */
  get isTooLong(): boolean {
    return this.text.length > (this.#endedAt === null ? maxResponseLength : this.#endedAt + maxAfterEnd);
  }

  /** Whether the usage came with the end of the answer or after it. */
  get hasUsageAtEnd(): boolean {
    return this.#hasUsageAtEnd;
  }

  /** Whether every choice that was begun is at its end: an upstream may give fewer than were asked for. */
  get isComplete(): boolean {
    return this.#finished.size > 0 && this.#finished.size >= this.#seen.size;
  }

  /** The choices that were begun and never said that they are at their end. */
  get unfinished(): readonly number[] {
    return this.#seen.without(this.#finished);
  }

  /** Whether so many choices have said that they are at their end. */
  hasFinished(choices: number): boolean {
    return this.#finished.size >= choices;
  }
}

/** Different indices of choices. Nearly every answer has but the first, and needs no set to know it. */
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
