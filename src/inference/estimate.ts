import type { Candidate } from '../catalogue/model.ts';
import { maxMediaTokens } from '../metering/media-tokens.ts';
import { type Krw, zeroKrw } from '../money/krw.ts';
import { costOf, highestRates, type Price } from '../money/price.ts';
import type { CompletionRequest } from '../wire/chat.ts';
import type { CompletionSizes } from './completion-sizes.ts';

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

/** The upstream decides the tier, and which tokens of the prompt it reads from a cache or writes. */
function dearest(price: Price): Price {
  const { prompt, cache_read, cache_write, cache_write_1h, completion, request } = highestRates(price);
  const ofPrompt = [cache_read, cache_write, cache_write_1h].reduce((a, b) => (a > b ? a : b), prompt);
  return { ...price, prompt: ofPrompt, completion, request };
}

function larger(a: Krw, b: Krw): Krw {
  return a > b ? a : b;
}
