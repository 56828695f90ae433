/** The last completions of a model that are kept. */
const maxCompletions = 256;
/** The estimate of a model is computed again after this many completions. */
const completionsPerEstimate = 16;
/** The models that are kept: beyond that the oldest one is evicted. */
const maxModels = 4_096;

interface Sizes {
  readonly ring: Uint32Array;
  completions: number;
  expected: number;
}

/**
 * How many tokens the recent completions of each model had: what a request without `max_tokens` is
 * expected to produce (spec:money/6.10). A completion costs one write; every 16 completions the
 * last 256 are sorted for the estimate.
 */
export class CompletionSizes {
  readonly #models = new Map<string, Sizes>();

  /** Records the tokens of a completion of the model. */
  note(modelId: string, tokens: number): void {
    const sizes = this.#models.get(modelId) ?? this.#begin(modelId);
    sizes.ring[sizes.completions % maxCompletions] = Math.min(tokens, 0xffff_ffff);
    sizes.completions += 1;
    if (tokens > sizes.expected && sizes.completions < maxCompletions) sizes.expected = tokens;
    else if (sizes.completions % completionsPerEstimate === 0) sizes.expected = p99(sizes);
  }

  /** The 99th percentile of the model's last completions, in tokens; 0 when none is known. */
  expected(modelId: string): number {
    return this.#models.get(modelId)?.expected ?? 0;
  }

  #begin(modelId: string): Sizes {
    if (this.#models.size >= maxModels) {
      const [first] = this.#models.keys();
      if (first !== undefined) this.#models.delete(first);
    }
    const sizes = { ring: new Uint32Array(maxCompletions), completions: 0, expected: 0 };
    this.#models.set(modelId, sizes);
    return sizes;
  }
}

function p99({ ring, completions }: Sizes): number {
  const sorted = ring.slice(0, Math.min(completions, maxCompletions)).sort();
  return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0;
}
