import { type Krw, krwToNumber } from '../money/krw.ts';

/**
 * The billed token counts. Whole numbers; cache tokens are part of the prompt, reasoning tokens of
 * the completion.
 */
export interface Usage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly reasoningTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  /** Of `cacheWriteTokens`, those written for an hour. */
  readonly cacheWrite1hTokens: number;
}

/** No tokens. */
export const noUsage: Usage = {
  promptTokens: 0,
  completionTokens: 0,
  reasoningTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
};

/** The cost of a generation, and the prompt's part of it (for display). */
export interface Bill {
  readonly cost: Krw;
  readonly promptCost: Krw;
}

/**
 * The `usage` object of a response: all details present, costs as JSON numbers in won.
 * `upstream_inference_cost` is null because there is no provider key of the client's own; clients
 * that add it to `cost` would count twice.
 */
export function usageBody(usage: Usage, bill: Bill): object {
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.promptTokens + usage.completionTokens,
    cost: krwToNumber(bill.cost),
    is_byok: false,
    prompt_tokens_details: {
      cached_tokens: usage.cacheReadTokens,
      cache_write_tokens: usage.cacheWriteTokens,
      audio_tokens: 0,
      video_tokens: 0,
    },
    cost_details: {
      upstream_inference_cost: null,
      upstream_inference_prompt_cost: krwToNumber(bill.promptCost),
      upstream_inference_completions_cost: krwToNumber((bill.cost - bill.promptCost) as Krw),
    },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens, image_tokens: 0, audio_tokens: 0 },
  };
}
