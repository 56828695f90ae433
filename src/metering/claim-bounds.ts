import type { Candidate } from '../catalogue/model.ts';
import { reasoningParameters } from '../dialects/reasoning.ts';
import type { CompletionRequest } from '../wire/chat.ts';
import { maxMediaTokens } from './media-tokens.ts';
import { countedElsewhere, maxTokensOfText, promptText } from './prompt-size.ts';
import { maxTokensPerMessage, type Received } from './reconcile-usage.ts';

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
