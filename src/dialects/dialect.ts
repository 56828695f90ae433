import type { ParameterOverrides, Variant } from '../config/variants.ts';
import type { Price } from '../money/price.ts';
import type { CompletionRequest, ResponseChunk } from '../wire/chat.ts';
import type { Source } from '../wire/receiver.ts';

/** The services beyond the ordinary one that a price has rows for. */
export type PricedServices = Pick<Price, 'tiers' | 'cacheWrite1h'>;

/** What a dialect needs to know about the candidate. */
export interface Destination {
  /** The model's name at the upstream. */
  readonly model: string;
  /** The model's id in the catalogue: identifies the model where its upstream name does not. */
  readonly modelId: string;
  /**
   * Parameters that the upstream is declared to support; null when nothing is declared: then all
   * known ones are sent.
   */
  readonly supportedParameters: ReadonlySet<string> | null;
  /**
   * The candidate's declared maximum of completion tokens; null when only its context limits it.
   */
  readonly maxCompletionTokens: number | null;
  /** The API, where the dialect has several. */
  readonly variant: Variant;
  /** The operator's overrides of single parameters. */
  readonly overrides: ParameterOverrides;
  /** What it may be asked for beyond the ordinary service. */
  readonly price: PricedServices;
}

/**
 * Length kept of an upstream's error message: long enough that secrets in it are found whole before
 * it is cut further.
 */
export const maxReasonLength = 4_000;

/** A request without headers of its own. */
export const noHeaders: Readonly<Record<string, string>> = {};

/** A request in the upstream's format. */
export interface EncodedRequest {
  /** Appended to the provider's base URL, such as `/chat/completions`. */
  readonly path: string;
  /**
   * Headers of this request only, names in lower case; those of the connection are added
   * separately.
   */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A decoded part of a response: a piece of it, an error in its place, or nothing. */
export type DecodedEvent =
  | {
      readonly kind: 'chunk';
      readonly chunk: ResponseChunk;
      /**
       * Bytes of memory that the chunk keeps at most; 0 for a whole response, whose reader counts
       * it, and for a chunk that a package read, which is always relayed at once.
       */
      readonly keptLength: number;
    }
  | { readonly kind: 'done' }
  | { readonly kind: 'error'; readonly status: number | null; readonly reason: string }
  | { readonly kind: 'malformed'; readonly reason: string };

/** The bytes of a streamed response. */
export type Bytes = Source<Buffer>;

/** Decodes a stream as its bytes arrive. Fails as its bytes do, and with `RangeError`. */
export interface StreamDecoder extends Source<readonly DecodedEvent[]> {
  /** Bytes of memory that an event without its end takes. */
  readonly heldBytes: number;
}

/**
 * One request to an upstream, and the decoder of its response, which is read once: in full or as a
 * stream.
 */
export interface UpstreamCodec {
  readonly request: EncodedRequest;
  /** The parameters that were not sent as received. */
  readonly changes: readonly ParameterChange[];
  /**
   * The content type of a streamed response; any other type is read in full. Null when only a full
   * response can be read.
   */
  readonly streamType: string | null;
  readWhole(body: Buffer): DecodedEvent | Promise<DecodedEvent>;
  /** `upstreamId` is the id in the response headers, used when the stream has none. */
  readStream(bytes: Bytes, upstreamId: string | null): StreamDecoder;
}

/** The dialect cannot express a request, so no candidate with this dialect can take it. */
export class UnsupportedRequest extends Error {
  override readonly name = 'UnsupportedRequest';
}

/**
 * Translates for one family of upstreams. It opens no connection and has no clock, so recorded
 * bytes are a complete test of a dialect. Streamed and non-streamed responses share every
 * translator.
 */
export interface Dialect {
  readonly name: string;
  /**
   * Encodes the request in the upstream's format. Throws `UnsupportedRequest` when the format
   * cannot express it.
   */
  encode(request: CompletionRequest, to: Destination): UpstreamCodec | Promise<UpstreamCodec>;
}

/**
 * How a parameter changed on its way to an upstream; unchanged ones have no entry. Never contains
 * its value.
 */
export interface ParameterChange {
  readonly parameter: string;
  /**
   * `dropped`: not sent. `renamed`: sent under another name. `changed`: sent with another value.
   */
  readonly change: 'dropped' | 'renamed' | 'changed';
  /** The name under which it was sent, if different. */
  readonly to?: string;
}

/** Notes that a member of a request is not sent as received. */
export type NoteChange = (parameter: string, change: ParameterChange['change']) => void;

/** Ids and codes are kept as long as their response; the real ones are far shorter. */
const maxNameLength = 500;

/** The first 500 UTF-16 units of an id or a code that an upstream chose. */
export function shortName(name: string): string {
  // A copy: a slice would keep all of the text.
  return name.length <= maxNameLength ? name : Buffer.from(name.slice(0, maxNameLength)).toString();
}
