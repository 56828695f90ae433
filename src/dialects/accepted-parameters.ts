import type { Variant } from '../config/variants.ts';
import { parametersOf } from '../wire/parameters.ts';
import type { PricedServices } from './dialect.ts';
import { rulesForModel, rulesOf } from './openai/providers.ts';
import { acceptedOf } from './openai/translate.ts';
import { sdkParameters, unsentBy } from './sdk/accepted-parameters.ts';

/** The destination of a request. */
export interface AcceptedBy {
  readonly dialect: 'openai' | 'anthropic' | 'google' | 'bedrock';
  readonly variant: Variant;
  /** The model's name at the upstream, and its id in the catalogue. */
  readonly model: string;
  readonly modelId: string;
  /** What it may be asked for beyond the ordinary service. */
  readonly price: PricedServices;
}

/** The chat parameters that are passed on to an upstream that declares none. */
export function acceptedParameters({
  dialect,
  variant,
  model,
  modelId,
  price,
}: AcceptedBy): readonly string[] {
  const known = Object.keys(parametersOf.chat);
  if (dialect !== 'openai')
    return known.filter(
      (name) =>
        sdkParameters.has(name) &&
        !unsentBy[dialect].includes(name) &&
        (name !== 'service_tier' || price.tiers !== undefined),
    );
  return acceptedOf(known, rulesForModel(rulesOf(variant), [model, modelId]));
}
