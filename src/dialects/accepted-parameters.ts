import type { Variant } from '../config/variants.ts';
import { parametersOf } from '../wire/parameters.ts';
import { rulesForModel, rulesOf } from './openai/providers.ts';
import { acceptedOf } from './openai/translate.ts';
import { sdkParameters } from './sdk/accepted-parameters.ts';

/** Where a request would go. */
export interface AcceptedBy {
  readonly dialect: 'openai' | 'anthropic' | 'google' | 'bedrock';
  readonly variant: Variant;
  /** The model's name at the upstream, and its id in the catalogue. */
  readonly model: string;
  readonly modelId: string;
}

/** The parameters of a conversation that are passed on to an upstream of which nothing is declared. */
export function acceptedParameters({ dialect, variant, model, modelId }: AcceptedBy): readonly string[] {
  const known = Object.keys(parametersOf.chat);
  if (dialect !== 'openai') return known.filter((name) => sdkParameters.has(name));
  return acceptedOf(known, rulesForModel(rulesOf(variant), [model, modelId]));
}
