import type { Reply } from './upstream-reply.ts';

/** One block of a response, cut into the pieces in which it streams. */
export type WireBlock =
  | { readonly text: readonly string[]; readonly signature?: string }
  | { readonly thought: readonly string[]; readonly signature?: string }
  /** A thought that only its maker can read. */
  | { readonly sealed: string }
  | {
      readonly call: { readonly id: string; readonly name: string; readonly args: readonly string[] };
      readonly signature?: string;
    };

/**
 * A response of any upstream other than OpenAI's, described so that each wire format can encode it.
 */
export interface WireResponse {
  readonly blocks: readonly WireBlock[];
  readonly stop?: 'end' | 'length' | 'tools' | 'filter';
  readonly usage?: WireUsage;
}

/** Tokens; the prompt's are all of it, cached ones included. */
export interface WireUsage {
  readonly prompt: number;
  readonly completion: number;
  readonly reasoning?: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
  /** Of `cacheWrite`. */
  readonly cacheWrite1h?: number;
  /** The service tier that is reported. */
  readonly tier?: string;
}

/** A wire format: what its upstream sends. */
export interface Wire {
  readonly dialect: 'anthropic' | 'google' | 'bedrock';
  /** A model's name there, one that thinks. */
  readonly model: string;
  /** The members of `providers:` that lead to `origin`, with credentials. */
  provider(origin: string): Readonly<Record<string, unknown>>;
  /** The texts of those credentials. */
  readonly secrets: readonly string[];
  /** The response, JSON or streamed as requested. */
  responds(response: WireResponse): Reply;
  /** A rejection in the wire format. */
  refuses(status: number, message: string, headers?: Readonly<Record<string, string>>): Reply;
  /** A stream that reports an overload or a throttling after these blocks. */
  breaks(blocks: readonly WireBlock[]): Reply;
  /** The status that such an error amounts to. */
  readonly breaksWith: number;
}

export const plainUsage: WireUsage = { prompt: 12, completion: 7 };
