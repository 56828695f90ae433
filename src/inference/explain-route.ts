import type { KeyRestrictions } from '../accounts/keys-sql.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { DrainView } from '../catalogue/model.ts';
import { refuse } from '../errors/catalogue.ts';
import { counted } from '../errors/counted.ts';
import { messages, requirements } from '../errors/messages.ts';
import { type Explanation, explainPlan, type Knowledge } from '../routing/explain-plan.ts';
import { plan, seedOf } from '../routing/plan.ts';
import { allowedModels } from '../routing/restrictions.ts';
import type { HealthView } from '../upstreams/health-status.ts';
import { namesOf } from '../wire/preferences.ts';
import { parseCompletionRequest } from './parse-request.ts';

/** The parts of a request on which its route depends. */
export interface RouteQuestion {
  readonly models: readonly string[];
  /** The `provider` object, as JSON text; null: none. */
  readonly provider: string | null;
  readonly promptTokens: number;
  readonly maxTokens: number | null;
  readonly image: boolean;
  readonly tools: boolean;
  readonly session: string | null;
  readonly accountId: number;
  /** Of the key that sends it. */
  readonly restrictions: KeyRestrictions | null;
}

/** What routes are explained from. */
export interface RouteKnowledge {
  readonly catalogue: Catalogue;
  readonly health: HealthView;
  readonly drains: DrainView;
  readonly knowledge: Knowledge;
}

/**
 * Explains which candidates such a request would be sent to now, by the plan of the function that
 * serves. Throws the refusal of an invalid request, such as one for a model that does not exist or
 * that the key may not use; an empty chain is no refusal here.
 */
export function explainRoute(question: RouteQuestion, known: RouteKnowledge): Explanation {
  const request = parseCompletionRequest('chat', Buffer.from(bodyOf(question)), null);
  const { promptTokens, accountId, restrictions } = question;
  const models = allowedModels(known.catalogue.resolve(request.models), restrictions);
  const { health, drains } = known;
  const allowed = namesOf(restrictions?.allowed_providers);
  const given = { promptTokens, health, drains, allowed, ...seedOf(request, accountId, 'explain') };
  return explainPlan(request, models, plan(request, models, given), { ...given, knowledge: known.knowledge });
}

/** A question as the query of a URL. */
export function queryOf(question: RouteQuestion): string {
  const { models, provider, promptTokens, maxTokens, image, tools, session, accountId, restrictions } =
    question;
  const query = new URLSearchParams({ models: models.join(','), prompt_tokens: String(promptTokens) });
  if (provider !== null) query.set('provider', provider);
  if (maxTokens !== null) query.set('max_tokens', String(maxTokens));
  if (image) query.set('image', '1');
  if (tools) query.set('tools', '1');
  if (session !== null) query.set('session', session);
  query.set('account', String(accountId));
  if (restrictions !== null) query.set('restrictions', JSON.stringify(restrictions));
  return String(query);
}

/** Reads the query of a URL; a missing or invalid number has its default. */
export function questionOf(query: URLSearchParams): RouteQuestion {
  const maxTokens = Number(query.get('max_tokens') ?? 'none');
  return {
    models: (query.get('models') ?? query.get('model') ?? '').split(',').filter((id) => id !== ''),
    provider: query.get('provider'),
    promptTokens: Number(query.get('prompt_tokens')) || 0,
    maxTokens: Number.isFinite(maxTokens) ? maxTokens : null,
    image: query.get('image') === '1',
    tools: query.get('tools') === '1',
    session: query.get('session'),
    accountId: Number(query.get('account')) || 0,
    restrictions: JSON.parse(query.get('restrictions') ?? 'null'),
  };
}

/** The smallest request with this route. */
function bodyOf({ models, provider, maxTokens, image, tools, session }: RouteQuestion): string {
  const content = image ? [{ type: 'image_url', image_url: { url: 'data:,' } }] : 'x';
  return JSON.stringify({
    models,
    messages: [{ role: 'user', content }],
    ...(maxTokens === null ? {} : { max_tokens: maxTokens }),
    ...(tools ? { tools: [] } : {}),
    ...(session === null ? {} : { session_id: session }),
    ...(provider === null ? {} : { provider: parsed(provider) }),
  });
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw refuse('invalid_request', messages.invalidValue('provider', requirements.validJson));
  }
}

/** The explanation as text: numbered sentences, and the source of the health data. */
export function explanationText({ models, candidates }: Explanation, knowledge: Knowledge): string {
  const kept = candidates.filter(({ place }) => place !== null);
  const head =
    kept.length === 0
      ? `No candidate can serve ${models.join(', ')} for this request: 404 no_endpoints_found.`
      : `${models.join(', ')}: ${kept.length} of ${counted(candidates.length, 'candidate')} eligible.`;
  const lines = candidates.map(
    ({ place, why }) => `${place === null ? ' -' : `${place}.`.padStart(2)} ${why}.`,
  );
  const foot =
    knowledge === 'live'
      ? 'Health as the running server sees it now.'
      : 'Without health data: no running server was found.';
  return [head, ...lines, foot].join('\n');
}
