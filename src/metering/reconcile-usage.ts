import type { CompletionRequest, UsageClaim } from '../wire/chat.ts';
import type { Usage } from '../wire/usage.ts';
import { type CountTexts, countPrompt, countTexts } from './count-tokens.ts';
import { countedElsewhere, promptTexts } from './prompt-size.ts';

/** Counts that may be billed, and their source. */
export interface ReconciledUsage {
  readonly usage: Usage;
  readonly source: 'upstream' | 'counted' | 'rejected';
}

/** The maximum that a chat template adds around one message (spec:money/4.8). */
const maxTokensPerMessage = 64;
/**
 * The maximum of one image or recording at the most expensive upstream; only raises the plausible
 * bound.
 */
const maxTokensPerMediaPart = 3_000;

/** What is known of the response to check its tokens. */
export interface Received {
  readonly texts: readonly string[];
  /** The number of choices, each a message. */
  readonly messages: number;
  /** Images and recordings of the response. */
  readonly mediaParts: number;
  /** Tokens that the model may have used for hidden reasoning; 0 without reasoning. */
  readonly maxHiddenTokens: number;
}

/**
 * What to bill: the upstream's claim when it is plausible; our own count when the claim is missing,
 * zero for some text, negative, not a number, or above what any tokenizer could make of the text
 * (docs/decisions/usage-reconciliation.md).
 */
export async function reconcileUsage(
  claim: UsageClaim | null,
  request: CompletionRequest,
  received: Received,
  count: CountTexts = countTexts,
): Promise<ReconciledUsage> {
  const prompt = await reconcilePrompt(claim, request, count);
  const reasoningTokens = Math.min(countOr(claim?.reasoningTokens, 0), received.maxHiddenTokens);
  const hidden = claim?.uncountedReasoning === true ? received.maxHiddenTokens : reasoningTokens;
  const completion = await reconcileCompletion(claim, received, { hidden, count });
  const cacheReadTokens = Math.min(countOr(claim?.cacheReadTokens, 0), prompt.tokens);
  const sources = [prompt.source, completion.source];
  return {
    usage: {
      promptTokens: prompt.tokens,
      completionTokens: completion.tokens,
      reasoningTokens: Math.min(reasoningTokens, completion.tokens),
      cacheReadTokens,
      cacheWriteTokens: Math.min(countOr(claim?.cacheWriteTokens, 0), prompt.tokens - cacheReadTokens),
    },
    source: sources.includes('rejected') ? 'rejected' : sources.includes('counted') ? 'counted' : 'upstream',
  };
}

interface Part {
  readonly tokens: number;
  readonly source: ReconciledUsage['source'];
}

async function reconcilePrompt(
  claim: UsageClaim | null,
  request: CompletionRequest,
  count: CountTexts,
): Promise<Part> {
  const claimed = countOr(claim?.promptTokens, 0);
  const { tokenIds, messages } = countedElsewhere(request.input);
  const bytes = bytesOf(promptTexts(request.input, request.parameters));
  const max = tokenIds + maxTokens({ bytes, messages, mediaParts: request.mediaParts });
  if (claimed > 0 && claimed <= max) return { tokens: claimed, source: 'upstream' };
  return {
    tokens: await countPrompt(request, undefined, count),
    source: claimed === 0 ? 'counted' : 'rejected',
  };
}

async function reconcileCompletion(
  claim: UsageClaim | null,
  received: Received,
  { hidden, count }: { readonly hidden: number; readonly count: CountTexts },
): Promise<Part> {
  const claimed = countOr(claim?.completionTokens, 0);
  const bytes = bytesOf(received.texts);
  // Without any text received, zero is correct, claimed or not.
  if (claimed === 0 && bytes === 0) return { tokens: 0, source: claim === null ? 'counted' : 'upstream' };
  if (claimed > 0 && claimed <= maxTokens({ bytes, ...received }) + hidden)
    return { tokens: claimed, source: 'upstream' };
  return { tokens: await count(received.texts), source: claimed === 0 ? 'counted' : 'rejected' };
}

/** No byte-level tokenizer makes more tokens of a text than it has bytes. */
function maxTokens(of: {
  readonly bytes: number;
  readonly messages: number;
  readonly mediaParts: number;
}): number {
  return of.bytes + of.messages * maxTokensPerMessage + of.mediaParts * maxTokensPerMediaPart;
}

function bytesOf(texts: Iterable<string>): number {
  let bytes = 0;
  for (const text of texts) bytes += Buffer.byteLength(text);
  return bytes;
}

/** A valid claimed count: a whole number above zero, in range of its database column. */
function countOr(claimed: unknown, otherwise: number): number {
  return typeof claimed === 'number' && Number.isInteger(claimed) && claimed > 0
    ? Math.min(claimed, 2_000_000_000)
    : otherwise;
}
