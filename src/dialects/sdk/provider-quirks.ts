import type { ReasoningOptions } from '../reasoning.ts';
import type { LanguageModel, Metadata, ProviderOptions } from './types.ts';

/** What a provider package is reached and paid with. Never from the environment: a package looks there for what it is not given. */
export interface Access {
  readonly baseUrl: string;
  /** Empty for none. */
  readonly apiKey: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A provider of a package, with the `fetch` that it is to call. */
export type OpenModel = (model: string, fetch: typeof globalThis.fetch) => LanguageModel;

/** What one package has its own words for. */
export interface ProviderQuirks {
  /** The `format` of its reasoning details: a signature is worth something to its own maker only. */
  format(model: string): string;
  /** Lets a part of the prompt carry the signature that came with it. */
  signed(signature: string): ProviderOptions;
  /** Marks a thought that only its maker can read. */
  encrypted(data: string): ProviderOptions;
  /** What came with a part of an answer: its signature, or a sealed thought. */
  provenance(metadata: Metadata): { readonly signature?: unknown; readonly encrypted?: unknown };
  /** Marks the end of a prefix that is to be cached. */
  cached(control: CacheControl): ProviderOptions;
  /** Options of the whole call. */
  call(wishes: ProviderCallOptions): ProviderOptions;
  /** The kinds of event that its streams have, when unknown ones are to be passed over; null when every event counts. */
  readonly eventTypes: ReadonlySet<string> | null;
  /** The longest completion that a written body allows, thoughts included; null when it does not say. */
  maxTokensOf(body: Readonly<Record<string, unknown>>): number | null;
}

/** A cache breakpoint as clients write it. */
export interface CacheControl {
  readonly type: 'ephemeral';
  readonly ttl?: '5m' | '1h';
}

/** What of a call has no common name among the packages. */
export interface ProviderCallOptions {
  readonly reasoning: ReasoningOptions;
  readonly parallelToolCalls: boolean | null;
  readonly cacheControl: CacheControl | null;
  readonly user: string | null;
}

/** A cache breakpoint, if that is one; null otherwise. */
export function cacheControlOf(value: unknown): CacheControl | null {
  if (typeof value !== 'object' || value === null) return null;
  const { type, ttl } = value as { type?: unknown; ttl?: unknown };
  if (type !== 'ephemeral') return null;
  return ttl === '5m' || ttl === '1h' ? { type, ttl } : { type };
}
