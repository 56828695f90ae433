import type { AnswerChunk, Ask, AskKind } from '../wire/chat.ts';

/** What a dialect needs to know of the candidate it writes for. */
export interface Destination {
  /** The model's name at the upstream. */
  readonly model: string;
  /** Parameters that the upstream is declared to understand; null when nothing is declared: then all known ones are sent. */
  readonly supportedParameters: ReadonlySet<string> | null;
}

/** A request in the upstream's words. */
export interface WrittenAsk {
  /** Appended to the provider's base URL, such as `/chat/completions`. */
  readonly path: string;
  readonly body: object;
}

/** What an upstream's words turned out to be: a piece of the answer, an error said in an answer's place, or nothing to say. */
export type Heard =
  | { readonly kind: 'chunk'; readonly chunk: AnswerChunk }
  | { readonly kind: 'done' }
  | { readonly kind: 'error'; readonly status: number | null; readonly reason: string }
  | { readonly kind: 'garbage'; readonly reason: string };

/**
 * How one family of upstreams is spoken to. Pure functions: no network, no clock, no keys, so recorded bytes are a complete
 * test of a dialect. Whole and streamed answers share every translator.
 */
export interface Dialect {
  readonly name: string;
  write(ask: Ask, to: Destination): WrittenAsk;
  /** Reads the data of one event of a stream. */
  readEvent(kind: AskKind, data: string): Heard;
  /** Reads the body of a whole answer. */
  readWhole(kind: AskKind, body: string): Heard;
  /** The upstream's words for why it refused, for the log only. */
  readReason(body: string): string;
}
