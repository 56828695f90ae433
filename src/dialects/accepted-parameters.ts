import type { Variant } from '../config/variants.ts';
import { parametersOf } from '../wire/parameters.ts';
import { rulesForModel, rulesOf } from './openai/providers.ts';
import { takenOf } from './openai/translate.ts';
import { spokenParameters } from './sdk/accepted-parameters.ts';

/** Where a request would go. */
export interface TakenBy {
  readonly dialect: 'openai' | 'anthropic' | 'google' | 'bedrock';
  readonly variant: Variant;
  /** The model's name at the upstream, and its id in the catalogue. */
  readonly model: string;
  readonly modelId: string;
}

/** The parameters of a conversation that are passed on to an upstream of which nothing is declared. */
export function takenParameters({ dialect, variant, model, modelId }: TakenBy): readonly string[] {
  const known = Object.keys(parametersOf.chat);
  if (dialect !== 'openai') return known.filter((name) => spokenParameters.has(name));
  return takenOf(known, rulesForModel(rulesOf(variant), [model, modelId]));
}
