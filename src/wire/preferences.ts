/** What a request may want of its candidates (`provider` of the original): read and checked. */
export interface Preferences {
  /** Providers to try first, in this order; null when nothing is said. */
  readonly order: readonly string[] | null;
  readonly only: readonly string[] | null;
  readonly ignore: readonly string[];
  /** False: nothing is tried but the first, or those of `order`. */
  readonly allowFallbacks: boolean;
  /** False: every parameter that was sent must be supported. */
  readonly requireParameters: boolean;
  readonly sort: Sort | null;
  readonly quantizations: readonly string[] | null;
  /** Only where prompts are not kept or learnt from. */
  readonly denyDataCollection: boolean;
  /** Only where nothing is retained. */
  readonly zdr: boolean;
}

/** What candidates are sorted by. */
export type Sort = 'price' | 'throughput' | 'latency';
