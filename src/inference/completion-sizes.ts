/** So many of a model's last answers are kept. */
const keptAnswers = 256;
/** The estimate of a model is computed again after so many answers. */
const answersPerEstimate = 16;
/** So many models are kept: the one that was met first is forgotten for another. */
const maxModels = 4_096;

interface Sizes {
  readonly ring: Uint32Array;
  answers: number;
  expected: number;
}

/**
 * How many tokens a completion of each model had lately: what a request without `max_tokens` is expected to produce (spec:money/6.10).
 * An answer costs one write; the estimate is sorted out of the last 256 once in 16 answers.
 */
export class CompletionSizes {
  readonly #models = new Map<string, Sizes>();

  /** A completion of the model had so many tokens. */
  note(modelId: string, tokens: number): void {
    const sizes = this.#models.get(modelId) ?? this.#begin(modelId);
    sizes.ring[sizes.answers % keptAnswers] = Math.min(tokens, 0xffff_ffff);
    sizes.answers += 1;
    if (tokens > sizes.expected && sizes.answers < keptAnswers) sizes.expected = tokens;
    else if (sizes.answers % answersPerEstimate === 0) sizes.expected = p99(sizes);
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
    const sizes = { ring: new Uint32Array(keptAnswers), answers: 0, expected: 0 };
    this.#models.set(modelId, sizes);
    return sizes;
  }
}

function p99({ ring, answers }: Sizes): number {
  const sorted = ring.slice(0, Math.min(answers, keptAnswers)).sort();
  return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0;
}
