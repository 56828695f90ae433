import type { Candidate } from '../catalogue/model.ts';
import { reasoningParameters } from '../dialects/reasoning.ts';
import type { CompletionRequest, UsageClaim } from '../wire/chat.ts';
import { noUsage, type Usage } from '../wire/usage.ts';
import { countedElsewhere, maxMediaTokens, maxTokensOfText, promptText } from './prompt-size.ts';

/** Tokens of templates and hidden prompts that an upstream adds to a request (spec:money/4.8). */
const maxHiddenPromptTokens = 1_024;

/**
 * The most tokens that are believed of one response. The text of the request is read once, for the
 * first claim: some upstreams send one with every chunk.
 */
export class ClaimBounds {
  readonly #request: CompletionRequest;
  readonly #candidate: Candidate;
  #ofRequest: { readonly prompt: number; readonly predicted: number } | null = null;

  constructor(request: CompletionRequest, candidate: Candidate) {
    this.#request = request;
    this.#candidate = candidate;
  }

  /** What a claim for a response with this text is compared with: UTF-8 bytes of all choices. */
  of(textBytes: number): Received {
    const { choices, completions } = this.#request;
    const { maxCompletionTokens } = this.#candidate;
    this.#ofRequest ??= boundsOf(this.#request, this.#candidate.contextLength);
    const unseen = completions - choices;
    return {
      textBytes,
      choices,
      maxPromptTokens: this.#ofRequest.prompt,
      maxUnseenTokens: unseen * maxCompletionTokens + this.#ofRequest.predicted,
      maxHiddenTokens: mayReason(this.#candidate) ? maxCompletionTokens * completions : 0,
    };
  }
}

function boundsOf(request: CompletionRequest, contextLength: number): { prompt: number; predicted: number } {
  const { input, parameters } = request;
  const { prediction } = parameters;
  const { tokenIds, messages } = countedElsewhere(input);
  const text = tokenIds + maxTokensOfText(promptText(input, parameters));
  const added = maxHiddenPromptTokens + messages * maxTokensPerMessage;
  return {
    prompt: text + added + maxMediaTokens(request, contextLength),
    predicted: prediction === undefined ? 0 : maxTokensOfText(promptText(prediction, {})),
  };
}

function mayReason({ supportedParameters: known }: Candidate): boolean {
  return known === null || reasoningParameters.some((name) => known.has(name));
}

/** Counts that may be billed, and their source. */
export interface ReconciledUsage {
  readonly usage: Usage;
  readonly source: 'upstream' | 'counted' | 'rejected';
}

/** The maximum that a chat template adds around one message (spec:money/4.8). */
export const maxTokensPerMessage = 64;
/** The most by which tokenizers differ: on Korean text. */
const tokenizerFactor = 3;

/** What is known of a response, to check the tokens that its upstream claims. */
export interface Received {
  /** UTF-8 bytes of the text of all choices. */
  readonly textBytes: number;
  /** The number of choices, each a message. */
  readonly choices: number;
  /** The most tokens that the prompt may have. */
  readonly maxPromptTokens: number;
  /**
   * Tokens of the completion that are not in its text: of completions that were not returned, of a
   * prediction that was not right.
   */
  readonly maxUnseenTokens: number;
  /** Tokens that the model may have used for hidden reasoning; 0 without reasoning. */
  readonly maxHiddenTokens: number;
}

/** Our own counts, made when they are needed. */
export interface OwnCounts {
  readonly prompt: () => Promise<number>;
  /** Of the text of all choices. */
  readonly completion: () => Promise<number>;
}

/**
 * What to bill: the upstream's claim when it is plausible; our own count of prompt and text when
 * the claim is missing, zero for some text, negative, not a number, or above what any tokenizer
 * could make of the text (docs/decisions/usage-reconciliation.md). A claim is believed as a whole
 * or not at all. A plausible claim for one choice is taken at once, without a promise.
 */
export function reconcileUsage(
  claim: UsageClaim | null,
  received: Received,
  own: OwnCounts,
): ReconciledUsage | Promise<ReconciledUsage> {
  const stated = statedIn(claim);
  const fault = faultOf(stated, received);
  if (fault !== null) return counted(fault, own);
  const plausible: ReconciledUsage = { usage: usageOf(stated, received), source: 'upstream' };
  // A text has no more tokens than bytes, so not every claim needs a count.
  const isEnough = (tokens: number): boolean => stated.completion * tokenizerFactor >= tokens;
  if (received.choices === 1 || isEnough(received.textBytes)) return plausible;
  return own.completion().then((tokens) => (isEnough(tokens) ? plausible : counted('rejected', own)));
}

/** Whether a claim is within what the request, and the text received so far, allow at most. */
export function isPlausible(claim: UsageClaim, received: Received): boolean {
  return faultOf(statedIn(claim), received) === null;
}

/** The counts of a claim; 0 for one that is missing or no count. */
interface Stated {
  readonly prompt: number;
  /** With the reasoning. */
  readonly completion: number;
  readonly reasoning: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly cacheWrite1h: number;
  readonly hasUncountedReasoning: boolean;
}

function statedIn(claim: UsageClaim | null): Stated {
  const prompt = countOf(claim?.promptTokens);
  const completion = countOf(claim?.completionTokens);
  const reasoning = countOf(claim?.reasoningTokens);
  // Some upstreams count reasoning beside the completion, as only their total shows.
  const isBeside = reasoning > 0 && countOf(claim?.totalTokens) === prompt + completion + reasoning;
  return {
    prompt,
    completion: isBeside ? completion + reasoning : completion,
    reasoning,
    cacheRead: countOf(claim?.cacheReadTokens),
    cacheWrite: countOf(claim?.cacheWriteTokens),
    cacheWrite1h: countOf(claim?.cacheWrite1hTokens),
    hasUncountedReasoning: claim?.uncountedReasoning === true,
  };
}

/** Why a claim is not believed: too little of it is stated, or it cannot be true. */
function faultOf(stated: Stated, received: Received): 'counted' | 'rejected' | null {
  const { prompt, completion, reasoning, cacheRead, cacheWrite, hasUncountedReasoning } = stated;
  const { textBytes, choices, maxPromptTokens, maxUnseenTokens, maxHiddenTokens } = received;
  const hidden = hasUncountedReasoning ? maxHiddenTokens : Math.min(reasoning, maxHiddenTokens);
  const maxCompletion = textBytes + choices * maxTokensPerMessage + maxUnseenTokens + hidden;
  if (prompt > maxPromptTokens || completion > maxCompletion) return 'rejected';
  // Without any text received, zero is correct.
  if (prompt === 0 || (completion === 0 && textBytes > 0)) return 'counted';
  return cacheRead + cacheWrite > prompt ? 'rejected' : null;
}

function usageOf(stated: Stated, { maxHiddenTokens }: Received): Usage {
  return {
    promptTokens: stated.prompt,
    completionTokens: stated.completion,
    reasoningTokens: Math.min(stated.reasoning, maxHiddenTokens, stated.completion),
    cacheReadTokens: stated.cacheRead,
    cacheWriteTokens: stated.cacheWrite,
    cacheWrite1hTokens: Math.min(stated.cacheWrite1h, stated.cacheWrite),
  };
}

async function counted(source: 'counted' | 'rejected', own: OwnCounts): Promise<ReconciledUsage> {
  const promptTokens = await own.prompt();
  const completionTokens = await own.completion();
  return { usage: { ...noUsage, promptTokens, completionTokens }, source };
}

/** A whole number above zero, in range of its database column; otherwise 0. */
function countOf(claimed: unknown): number {
  return typeof claimed === 'number' && Number.isInteger(claimed) && claimed > 0
    ? Math.min(claimed, 2_000_000_000)
    : 0;
}
