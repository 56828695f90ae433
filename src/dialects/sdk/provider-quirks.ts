import type { MessageRules } from '../conversation/rules.ts';
import type { ReasoningOptions } from '../reasoning.ts';
import type { LanguageModel, Metadata, ProviderOptions } from './types.ts';

/**
 * The URL and credentials of a provider package. Never from the environment, where a package looks
 * for what is missing here.
 */
export interface Access {
  readonly baseUrl: string;
  /** Empty for none. */
  readonly apiKey: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A provider of a package, with the `fetch` that it calls. */
export type OpenModel = (model: string, fetch: typeof globalThis.fetch) => LanguageModel;

/** What is specific to one package. */
export interface ProviderQuirks {
  /** The `format` of its reasoning details: only the provider that made a signature can use it. */
  format(model: string): string;
  /** Options that return the signature of a prompt part. */
  signed(signature: string): ProviderOptions;
  /** Options that mark reasoning that only its provider can read. */
  encrypted(data: string): ProviderOptions;
  /** What belongs to a response part: its signature, or encrypted reasoning. */
  provenance(metadata: Metadata): { readonly signature?: unknown; readonly encrypted?: unknown };
  /** The service that billed a response, as its end reports. */
  reported(metadata: Metadata): ReportedService;
  /** The tiers that can be requested, by our names, as the API names them. */
  readonly tiers: Readonly<Record<string, string>>;
  /** Options that mark the end of a prefix to cache. */
  cached(control: CacheControl): ProviderOptions;
  /** Options of the whole call. */
  call(options: ProviderCallOptions): ProviderOptions;
  /**
   * The event types of its streams, when unknown ones are skipped; null when every event counts.
   */
  readonly eventTypes: ReadonlySet<string> | null;
  /** Whether a model that thinks requires the signed thought of its calls with their results. */
  signsCalls(model: string): boolean;
  /** What it requires of messages and tools. */
  readonly messages: MessageRules;
  /** The completion limit of a written body, reasoning included; null when it has none. */
  maxTokensOf(body: Readonly<Record<string, unknown>>): number | null;
}

/** Values that an upstream reports, not yet checked. */
export interface ReportedService {
  readonly tier: unknown;
  /** Prompt tokens that were written to a cache for an hour. */
  readonly cacheWrite1h: unknown;
}

/** A cache breakpoint as clients write it. */
export interface CacheControl {
  readonly type: 'ephemeral';
  readonly ttl?: '5m' | '1h';
}

/** Options of a call that have no common name among the packages. */
export interface ProviderCallOptions {
  readonly reasoning: ReasoningOptions;
  readonly parallelToolCalls: boolean | null;
  readonly cacheControl: CacheControl | null;
  readonly user: string | null;
  /** By the name of the API; null: the ordinary service. */
  readonly serviceTier: string | null;
}

/** A cache breakpoint; null for any other value. */
export function cacheControlOf(value: unknown): CacheControl | null {
  if (typeof value !== 'object' || value === null) return null;
  const { type, ttl } = value as { type?: unknown; ttl?: unknown };
  if (type !== 'ephemeral') return null;
  return ttl === '5m' || ttl === '1h' ? { type, ttl } : { type };
}
