import type { CompletionRequest, UsageClaim } from '../wire/chat.ts';
import type { Usage } from '../wire/usage.ts';
import { type CountTexts, countPrompt, countTexts } from './count-tokens.ts';
import { bytesOf, countedElsewhere, maxTokensOfText, promptText } from './prompt-size.ts';

/** Counts that may be billed, and their source. */
export interface ReconciledUsage {
  readonly usage: Usage;
  readonly source: 'upstream' | 'counted' | 'rejected';
}

/** The maximum that a chat template adds around one message (spec:money/4.8). */
const maxTokensPerMessage = 64;
/** What is known of the response to check its tokens. */
export interface Received {
  readonly texts: readonly string[];
  /** The number of choices, each a message. */
  readonly messages: number;
  /** Tokens that the media of the prompt may have. */
  readonly maxPromptMediaTokens: number;
  /**
   * Tokens of the completion that are not in `texts`: of completions that were not returned, of a
   * prediction that was not right.
   */
  readonly maxUnseenTokens: number;
  /** Tokens that the model may have used for hidden reasoning; 0 without reasoning. */
  readonly maxHiddenTokens: number;
}

/**
 * What to bill: the upstream's claim when it is plausible; our own count when the claim is missing,
 * zero for some text, negative, not a number, or above what any tokenizer could make of the text
 * (docs/decisions/usage-reconciliation.md). A plausible claim is taken at once, without a promise.
 */
export function reconcileUsage(
  claim: UsageClaim | null,
  request: CompletionRequest,
  received: Received,
  count: CountTexts = countTexts,
): ReconciledUsage | Promise<ReconciledUsage> {
  const reasoningTokens = Math.min(countOr(claim?.reasoningTokens, 0), received.maxHiddenTokens);
  const hidden = claim?.uncountedReasoning === true ? received.maxHiddenTokens : reasoningTokens;
  const prompt = plausiblePrompt(claim, request, received);
  const completion = plausibleCompletion(claim, received, hidden);
  if (prompt !== null && completion !== null)
    return reconciled(claim, reasoningTokens, { prompt, completion });
  return countMissing(claim, { prompt, completion }, { request, received, count }).then((parts) =>
    reconciled(claim, reasoningTokens, parts),
  );
}

interface Part {
  readonly tokens: number;
  readonly source: ReconciledUsage['source'];
}

interface Parts {
  readonly prompt: Part;
  readonly completion: Part;
}

function reconciled(
  claim: UsageClaim | null,
  reasoningTokens: number,
  { prompt, completion }: Parts,
): ReconciledUsage {
  const cacheReadTokens = Math.min(countOr(claim?.cacheReadTokens, 0), prompt.tokens);
  return {
    usage: {
      promptTokens: prompt.tokens,
      completionTokens: completion.tokens,
      reasoningTokens: Math.min(reasoningTokens, completion.tokens),
      cacheReadTokens,
      cacheWriteTokens: Math.min(countOr(claim?.cacheWriteTokens, 0), prompt.tokens - cacheReadTokens),
    },
    source: sourceOf(prompt.source, completion.source),
  };
}

function sourceOf(prompt: Part['source'], completion: Part['source']): Part['source'] {
  if (prompt === 'rejected' || completion === 'rejected') return 'rejected';
  return prompt === 'counted' ? prompt : completion;
}

/** Null: it must be counted. */
function plausiblePrompt(
  claim: UsageClaim | null,
  { input, parameters }: CompletionRequest,
  { maxPromptMediaTokens }: Received,
): Part | null {
  const tokens = countOr(claim?.promptTokens, 0);
  if (tokens === 0) return null;
  const { tokenIds, messages } = countedElsewhere(input);
  const max = tokenIds + maxTokensOfText(promptText(input, parameters)) + messages * maxTokensPerMessage;
  return tokens <= max + maxPromptMediaTokens ? { tokens, source: 'upstream' } : null;
}

/** Null: it must be counted. */
function plausibleCompletion(
  claim: UsageClaim | null,
  { texts, messages, maxUnseenTokens }: Received,
  hidden: number,
): Part | null {
  const tokens = countOr(claim?.completionTokens, 0);
  const bytes = bytesOf(texts);
  // Without any text received, zero is correct, claimed or not.
  if (tokens === 0 && bytes === 0) return { tokens, source: claim === null ? 'counted' : 'upstream' };
  return tokens > 0 && tokens <= bytes + messages * maxTokensPerMessage + maxUnseenTokens + hidden
    ? { tokens, source: 'upstream' }
    : null;
}

/** Our own count of the parts whose claim is missing or not plausible. */
async function countMissing(
  claim: UsageClaim | null,
  { prompt, completion }: { readonly prompt: Part | null; readonly completion: Part | null },
  of: { readonly request: CompletionRequest; readonly received: Received; readonly count: CountTexts },
): Promise<Parts> {
  const source = (claimed: unknown): Part['source'] => (countOr(claimed, 0) === 0 ? 'counted' : 'rejected');
  return {
    prompt: prompt ?? {
      tokens: await countPrompt(of.request, undefined, of.count),
      source: source(claim?.promptTokens),
    },
    completion: completion ?? {
      tokens: await of.count(of.received.texts),
      source: source(claim?.completionTokens),
    },
  };
}

/** A valid claimed count: a whole number above zero, in range of its database column. */
function countOr(claimed: unknown, otherwise: number): number {
  return typeof claimed === 'number' && Number.isInteger(claimed) && claimed > 0
    ? Math.min(claimed, 2_000_000_000)
    : otherwise;
}
