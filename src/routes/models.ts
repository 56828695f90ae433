import type { Catalogue } from '../catalogue/catalogue.ts';
import type { Model } from '../catalogue/model.ts';
import { route } from '../http/route.ts';
import { type Price, rateToDecimal } from '../money/price.ts';

/** The catalogue for everyone (service.md §1): answered from memory, also while the database is away. */
export function modelRoutes(catalogue: () => Catalogue) {
  return [
    route({
      method: 'GET',
      path: '/api/v1/models',
      credential: 'none',
      summary: 'List the models',
      handle: () => {
        const { models } = catalogue();
        return { body: { data: models.map(modelBody), total_count: models.length, links: { next: null } } };
      },
    }),
  ];
}

function modelBody(model: Model): object {
  const inputs = model.inputModalities.join('+');
  const outputs = model.outputModalities.join('+');
  return {
    id: model.id,
    canonical_slug: model.id,
    name: model.name,
    created: model.created,
    description: model.description,
    context_length: model.contextLength,
    architecture: {
      modality: `${inputs}->${outputs}`,
      input_modalities: model.inputModalities,
      output_modalities: model.outputModalities,
      tokenizer: model.tokenizer ?? 'Other',
      instruct_type: null,
    },
    pricing: pricing(model.price),
    top_provider: {
      context_length: model.contextLength,
      max_completion_tokens: model.maxCompletionTokens,
      is_moderated: false,
    },
    per_request_limits: null,
    supported_parameters: model.supportedParameters,
    default_parameters: null,
    supported_voices: null,
    links: { details: `/api/v1/models/${model.id}/endpoints` },
    expiration_date: null,
    knowledge_cutoff: model.knowledgeCutoff,
    hugging_face_id: model.huggingFaceId,
  };
}

/** Won per unit as decimal strings (decisions.md §1). */
function pricing(price: Price): object {
  return {
    prompt: rateToDecimal(price.prompt),
    completion: rateToDecimal(price.completion),
    request: rateToDecimal(price.request),
    image: '0',
    web_search: '0',
    internal_reasoning: '0',
    input_cache_read: rateToDecimal(price.cacheRead),
    input_cache_write: rateToDecimal(price.cacheWrite),
    currency: 'KRW',
  };
}
