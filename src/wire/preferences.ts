import type { Rate } from '../money/price.ts';

/** What a request may want of its candidates (`provider` of OpenRouter): read and checked. */
export interface Preferences {
  /** Providers to try first, in this order; null when nothing is said. */
  readonly order: readonly string[] | null;
  readonly only: readonly string[] | null;
  readonly ignore: readonly string[];
  /** False: nothing is tried but the first, or those of `order`. */
  readonly allowFallbacks: boolean;
  /** True: every parameter that was sent must be supported. */
  readonly requireParameters: boolean;
  readonly sort: Sort | null;
  /** True: the candidates of all models are sorted as one; false: the models keep their order. */
  readonly sortAcrossModels: boolean;
  /** The most that tokens may cost; null when nothing is said. */
  readonly maxPrice: MaxPrice | null;
  /** Tokens per second that should be reached; who does not reach them is tried later. */
  readonly preferredMinThroughput: Cutoffs | null;
  /** Milliseconds to the first word that should not be exceeded; who exceeds them is tried later. */
  readonly preferredMaxLatency: Cutoffs | null;
  readonly quantizations: readonly string[] | null;
  /** Only where prompts are not kept or learnt from. */
  readonly denyDataCollection: boolean;
  /** Only where nothing is retained. */
  readonly zdr: boolean;
}

/** What candidates are sorted by. */
export type Sort = 'price' | 'throughput' | 'latency';

/** Bounds of a price, as rates per token and per request; null where nothing is said. */
export interface MaxPrice {
  readonly prompt: Rate | null;
  readonly completion: Rate | null;
  readonly request: Rate | null;
}

/** A bound for each percentile that is named, all of which are to be met. */
export type Cutoffs = Partial<Readonly<Record<'p50' | 'p75' | 'p90' | 'p99', number>>>;
