import type { ParameterOverrides, Variant } from '../config/variants.ts';
import type { AnswerChunk, CompletionRequest } from '../wire/chat.ts';
import type { ParameterChange } from './parameter-change.ts';

/** What a dialect needs to know of the candidate it writes for. */
export interface Destination {
  /** The model's name at the upstream. */
  readonly model: string;
  /** The model's id in the catalogue: what it is, where its name at the upstream does not say so. */
  readonly modelId: string;
  /** Parameters that the upstream is declared to understand; null when nothing is declared: then all known ones are sent. */
  readonly supportedParameters: ReadonlySet<string> | null;
  /** The longest completion that is declared of the candidate, in tokens; null when only its context limits it. */
  readonly maxCompletionTokens: number | null;
  /** Which API it is, where the dialect has several. */
  readonly variant: Variant;
  /** What the operator says of single parameters. */
  readonly overrides: ParameterOverrides;
}

/** Of an upstream's own words this much is kept, so that secrets in them are found whole before they are cut further. */
export const maxReasonLength = 4_000;

/** A request in the upstream's words. */
export interface EncodedRequest {
  /** Appended to the provider's base URL, such as `/chat/completions`. */
  readonly path: string;
  /** Headers of this request alone, names in small letters; those of the connection stand beside them. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What an upstream's words turned out to be: a piece of the answer, an error said in an answer's place, or nothing to say. */
export type DecodedEvent =
  | { readonly kind: 'chunk'; readonly chunk: AnswerChunk }
  | { readonly kind: 'done' }
  | { readonly kind: 'error'; readonly status: number | null; readonly reason: string }
  | { readonly kind: 'malformed'; readonly reason: string };

/** Where the bytes of a streamed answer come from: what has arrived and was not taken, null at the end. Rejects when it broke off. */
export interface Bytes {
  next(): Promise<readonly Buffer[] | null>;
}

/** What is understood of a stream, as its bytes come: the next words, null at the end. Rejects as its bytes do, and with `RangeError`. */
export interface StreamDecoder {
  next(): Promise<readonly DecodedEvent[] | null>;
}

/** One request to an upstream, and the reader of what it answers: as a whole or as a stream, one of the two, once. */
export interface UpstreamCodec {
  readonly request: EncodedRequest;
  /** What became of parameters that were not sent as the client said them. */
  readonly changes: readonly ParameterChange[];
  /** The content type of a streamed answer, any other answer being a whole one; null when only a whole one can be read. */
  readonly streamType: string | null;
  readWhole(body: Buffer): DecodedEvent | Promise<DecodedEvent>;
  /** `answerId` is how the answer's headers name it, should the stream itself not do so. */
  readStream(bytes: Bytes, answerId: string | null): StreamDecoder;
}

/** The dialect has no words for a request, so no candidate that speaks it can take the request. */
export class UnsupportedRequest extends Error {
  override readonly name = 'Unsayable';
}

/**
 * How one family of upstreams is spoken to. Translation only: it opens no connection and has no clock, so recorded bytes are a
 * complete test of a dialect. Whole and streamed answers share every translator.
 */
export interface Dialect {
  readonly name: string;
  /** Puts a request into the upstream's words. Throws `Unsayable` when it has none for it. */
  encode(ask: CompletionRequest, to: Destination): UpstreamCodec | Promise<UpstreamCodec>;
  /** The upstream's words for why it refused, for the log only. */
  parseErrorMessage(body: string): string;
}
