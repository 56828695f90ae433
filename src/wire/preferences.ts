import type { Rate } from '../money/price.ts';

/** A request's preferences for its candidates (`provider` of OpenRouter), parsed and checked. */
export interface Preferences {
  /** Providers to try first, in this order; null when not set. */
  readonly order: Names | null;
  readonly only: Names | null;
  readonly ignore: Names;
  /** False: only the first candidate is tried, or those of `order`. */
  readonly allowFallbacks: boolean;
  /** True: every parameter that was sent must be supported. */
  readonly requireParameters: boolean;
  readonly sort: Sort | null;
  /** True: the candidates of all models are sorted as one; false: the models keep their order. */
  readonly sortAcrossModels: boolean;
  /** The maximum price of tokens; null when not set. */
  readonly maxPrice: MaxPrice | null;
  /** The preferred minimum of tokens per second; candidates below it are tried later. */
  readonly preferredMinThroughput: Cutoffs | null;
  /**
   * The preferred maximum of milliseconds to the first token; candidates above it are tried later.
   */
  readonly preferredMaxLatency: Cutoffs | null;
  readonly quantizations: ReadonlySet<string> | null;
  /** Only providers that neither store prompts nor train on them. */
  readonly denyDataCollection: boolean;
  /** Only providers with zero data retention. */
  readonly zdr: boolean;
  /** Only candidates whose text may be used to train other models. */
  readonly distillable: boolean;
}

/** How the weights of a candidate may be quantized. */
export const quantizations = [
  'int4',
  'int8',
  'fp4',
  'mxfp4',
  'nvfp4',
  'fp6',
  'fp8',
  'mxfp8',
  'fp16',
  'bf16',
  'fp32',
  'unknown',
] as const;

/** Names of providers in lower case, each with its place in the list of the request. */
export type Names = ReadonlyMap<string, number>;

/** What candidates are sorted by. */
export type Sort = 'price' | 'throughput' | 'latency';

/** Bounds of a price, as rates per token and per request; null where not set. */
export interface MaxPrice {
  readonly prompt: Rate | null;
  readonly completion: Rate | null;
  readonly request: Rate | null;
}

/** A bound for each named percentile, all of which must be met. */
export type Cutoffs = Partial<Readonly<Record<'p50' | 'p75' | 'p90' | 'p99', number>>>;
