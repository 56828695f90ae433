import type { Candidate } from '../catalogue/model.ts';
import { maxMediaTokens } from '../metering/prompt-size.ts';
import { type Krw, zeroKrw } from '../money/krw.ts';
import { costOf, highestRates, type Price } from '../money/price.ts';
import type { CompletionRequest } from '../wire/chat.ts';

/** The least that is expected of a completion without `max_tokens`. */
const minExpectedTokens = 1_024;

/**
 * The most that any candidate of the chain is expected to cost for this request: the prompt, and
 * the completion that the request allows, at the highest rates that may be billed. Without `max_tokens` that is the recent completion size
 * of its model, at least 1,024 tokens (spec:money/6.10).
 */
export function estimate(
  request: CompletionRequest,
  chain: readonly Candidate[],
  sizes: CompletionSizes,
): Krw {
  return chain
    .map((candidate) => costOf(dearest(candidate.price), unitsFor(request, candidate, sizes)))
    .reduce(larger, zeroKrw);
}

function unitsFor(
  request: CompletionRequest,
  { modelId, maxCompletionTokens, contextLength }: Candidate,
  sizes: CompletionSizes,
): Parameters<typeof costOf>[1] {
  const expected = request.maxTokens ?? Math.max(minExpectedTokens, sizes.expected(modelId));
  const promptTokens = request.textBytes + maxMediaTokens(request, contextLength);
  const completionTokens = Math.min(expected, maxCompletionTokens) * request.completions;
  return { promptTokens, completionTokens, cacheReadTokens: 0, cacheWriteTokens: 0, cacheWrite1hTokens: 0 };
}

/** Every request needs that of its price, which many share. */
const dearestOf = new WeakMap<Price, Price>();

/** The upstream decides the tier, and which tokens of the prompt it reads from a cache or writes. */
function dearest(price: Price): Price {
  const known = dearestOf.get(price);
  if (known !== undefined) return known;
  const { prompt, cache_read, cache_write, cache_write_1h, completion, request } = highestRates(price);
  const ofPrompt = [cache_read, cache_write, cache_write_1h].reduce((a, b) => (a > b ? a : b), prompt);
  const found = { ...price, prompt: ofPrompt, completion, request };
  dearestOf.set(price, found);
  return found;
}

function larger(a: Krw, b: Krw): Krw {
  return a > b ? a : b;
}

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
