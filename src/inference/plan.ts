import type { Candidate, Model } from '../catalogue/model.ts';
import { refuse } from '../errors/catalogue.ts';
import type { Ask } from '../wire/chat.ts';
import { inOrder, isWanted, type Measured } from './preferences.ts';

/** Why a candidate is not tried. */
export type Dropped = 'not_wanted' | 'context_too_small' | 'input_not_supported' | 'tools_not_supported';

/** The candidates of a request in the order in which they are tried, and those that were dropped, with the reason. */
export interface Plan {
  readonly chain: readonly Candidate[];
  readonly dropped: readonly { readonly candidate: Candidate; readonly why: Dropped }[];
}

/** A prompt must be this much larger than a context by our count before we say so: the model counts with another tokenizer. */
const contextMargin = 1.1;

/**
 * Puts the candidates of the asked models in order and drops those that cannot take the request before anything is sent
 * (service.md 7.4.5). Pure. `promptTokens` is our count of the prompt, or any number that it is not above; `measured` is what is
 * known of how candidates do.
 */
export function plan(
  ask: Ask,
  models: readonly Model[],
  promptTokens: number,
  measured: (candidate: Candidate) => Measured = unmeasured,
): Plan {
  const chain: Candidate[] = [];
  const dropped: { candidate: Candidate; why: Dropped }[] = [];
  for (const { candidates } of models) {
    const able = candidates.filter((candidate) => {
      const why = whyNot(ask, candidate, promptTokens);
      if (why !== null) dropped.push({ candidate, why });
      return why === null;
    });
    const ordered = inOrder(able, ask.provider, measured);
    for (const candidate of able)
      if (!ordered.includes(candidate)) dropped.push({ candidate, why: 'not_wanted' });
    chain.push(...ordered);
  }
  return { chain, dropped };
}

/** The chain of a plan; `404 no_endpoints_found` when every candidate was dropped. */
export function chainOf(ask: Ask, planned: Plan): readonly Candidate[] {
  if (planned.chain.length > 0) return planned.chain;
  const reasons = [...new Set(planned.dropped.map(({ why }) => explanations[why]))].join(', ');
  throw refuse('no_endpoints_found', `No endpoints found for ${ask.models.join(', ')}: ${reasons}.`, {
    models: ask.models,
  });
}

/**
 * The count above which a prompt fits none of the models, so that counting may stop there; null when its bytes alone show that
 * it fits all of them and nothing needs to be counted.
 */
export function countingLimit(ask: Ask, models: readonly Model[]): number | null {
  const contexts = models.flatMap((model) => model.candidates).map((candidate) => candidate.contextLength);
  if (contexts.every((context) => ask.textBytes <= context)) return null;
  return Math.ceil(Math.max(...contexts) * contextMargin);
}

const unmeasured = (): Measured => ({ throughput: null, latency: null });

const explanations: Readonly<Record<Dropped, string>> = {
  not_wanted: 'the provider preferences exclude it',
  context_too_small: 'the prompt exceeds the context length',
  input_not_supported: 'a kind of input is not supported',
  tools_not_supported: 'tool use is not supported',
};

function whyNot(ask: Ask, candidate: Candidate, promptTokens: number): Dropped | null {
  if (!isWanted(candidate, ask.provider, Object.keys(ask.parameters))) return 'not_wanted';
  if (promptTokens > candidate.contextLength * contextMargin) return 'context_too_small';
  if ([...ask.inputs].some((input) => !candidate.inputs.has(input))) return 'input_not_supported';
  const asksForTools = ask.parameters['tools'] !== undefined;
  if (asksForTools && candidate.supportedParameters !== null && !candidate.supportedParameters.has('tools'))
    return 'tools_not_supported';
  return null;
}
