import type { CandidateConfig, Config, Modality, ModelConfig, ProviderConfig } from '../config/config.ts';
import { type AcceptedBy, acceptedParameters } from '../dialects/accepted-parameters.ts';
import { variantOfUrl } from '../dialects/openai/providers.ts';
import { refuse } from '../errors/catalogue.ts';
import { messages } from '../errors/messages.ts';
import type { Price } from '../money/price.ts';
import { notOffered } from '../wire/parameters.ts';
import { labelOf, offeredBy, offerKey } from './difference.ts';
import { type Candidate, type Model, ownProvider } from './model.ts';

/** The creation date of a model without one: the day of the first catalogue. */
const createdUnlessStated = Date.UTC(2026, 0, 1);

/** The models that are served, in the order of the configuration. */
export class Catalogue {
  readonly models: readonly Model[];
  readonly #byId: ReadonlyMap<string, Model>;

  constructor(models: readonly Model[]) {
    this.models = models;
    this.#byId = new Map(models.map((model) => [model.id, model]));
  }

  /** The model with exactly this id, or null. */
  find(id: string): Model | null {
    return this.#byId.get(id) ?? null;
  }

  /**
   * The models of these ids, in order. The first unknown one is refused with `400 model_not_found`
   * (spec:api/12.2).
   */
  resolve(ids: readonly string[]): readonly Model[] {
    return ids.map((id) => {
      const model = this.#byId.get(id);
      if (model === undefined) throw refuse('model_not_found', messages.modelNotFound(id), { model: id });
      return model;
    });
  }
}

/** A published price of a candidate. */
export interface PricedOffer {
  /** The version: every generation stores the one that it was billed with. */
  readonly id: number;
  readonly price: Price;
}

/**
 * Builds the catalogue of a configuration at these prices, by `offerKey`. A candidate without one
 * is left out, and so is a model without a candidate (spec:money/2.3).
 */
export function buildCatalogue(config: Config, prices: ReadonlyMap<string, PricedOffer>): Catalogue {
  const models = config.models.flatMap((model) => {
    const candidates = model.candidates.flatMap((candidate) => {
      const label = labelOf(candidate);
      const offer = prices.get(offerKey({ model: model.id, candidate: label }));
      return offer === undefined ? [] : [candidateOf(config, model, candidate, { label, offer })];
    });
    const [first] = candidates;
    return first === undefined ? [] : [modelOf(model, candidates, first.price)];
  });
  return new Catalogue(models);
}

/** The prices that a configuration states, as if they were published as one version. */
export function statedPrices(config: Config, id: number): ReadonlyMap<string, PricedOffer> {
  return new Map(offeredBy(config).map((offer) => [offerKey(offer), { id, price: offer.price }]));
}

function modelOf(model: ModelConfig, candidates: readonly Candidate[], price: Price): Model {
  return {
    id: model.id,
    name: model.name,
    description: model.description,
    created: Math.floor((model.createdMs ?? createdUnlessStated) / 1000),
    contextLength: model.contextLength,
    maxCompletionTokens: model.maxCompletionTokens ?? model.contextLength,
    inputModalities: model.inputModalities,
    outputModalities: model.outputModalities,
    supportedParameters: model.supportedParameters?.filter((name) => !notOffered.has(name)) ?? [
      ...new Set(candidates.flatMap(({ acceptedParameters: taken }) => taken)),
    ],
    defaultParameters: model.defaultParameters,
    price,
    huggingFaceId: model.huggingFaceId,
    knowledgeCutoff: model.knowledgeCutoff,
    tokenizer: model.tokenizer,
    candidates,
  };
}

function candidateOf(
  config: Config,
  model: ModelConfig,
  candidate: CandidateConfig,
  { label, offer }: { readonly label: string; readonly offer: PricedOffer },
): Candidate {
  const { target } = candidate;
  const provider =
    target.kind === 'provider' ? config.providers.find((row) => row.slug === target.provider) : undefined;
  const to = { ...destinationOf(config, candidate, { provider, modelId: model.id }), price: offer.price };
  const overrides = { ...provider?.parameters, ...candidate.parameters };
  return {
    label,
    priceVersion: offer.id,
    via:
      target.kind === 'slot'
        ? { kind: 'slot', slot: target.slot }
        : { kind: 'provider', provider: target.provider },
    modelId: model.id,
    upstreamModel: target.kind === 'slot' ? model.id : target.model,
    ...(target.kind === 'slot'
      ? { providerTag: `${ownProvider.slug}/${target.slot}`, providerName: ownProvider.name }
      : { providerTag: target.provider, providerName: provider?.name ?? target.provider }),
    contextLength: candidate.contextLength,
    maxCompletionTokens: candidate.maxCompletionTokens ?? candidate.contextLength,
    inputs: new Set<Modality>(candidate.inputModalities),
    supportedParameters:
      candidate.supportedParameters === null ? null : new Set(candidate.supportedParameters),
    acceptedParameters: (candidate.supportedParameters ?? acceptedParameters(to)).filter(
      (name) => overrides[name] !== 'drop' && !notOffered.has(name),
    ),
    variant: to.variant,
    overrides,
    quantization: candidate.quantization,
    dataCollection: candidate.dataCollection,
    zdr: candidate.zdr,
    distillable: candidate.distillable,
    weight: candidate.weight,
    price: offer.price,
  };
}

/** The API of a candidate, and its name there. */
function destinationOf(
  { slots }: Config,
  { target }: CandidateConfig,
  { provider, modelId }: { readonly provider: ProviderConfig | undefined; readonly modelId: string },
): Omit<AcceptedBy, 'price'> {
  if (target.kind === 'slot' || provider === undefined) {
    const slot = slots.find(({ name }) => target.kind === 'slot' && name === target.slot);
    return { dialect: 'openai', variant: slot?.variant ?? 'engine', model: slot?.model ?? modelId, modelId };
  }
  const variant = provider.variant ?? variantOfUrl(provider.baseUrl);
  return { dialect: provider.dialect, variant, model: target.model, modelId };
}
