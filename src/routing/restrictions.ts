import type { KeyRestrictions, RestrictionChange } from '../accounts/keys-sql.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { Model } from '../catalogue/model.ts';
import { refuse } from '../errors/catalogue.ts';
import { messages } from '../errors/messages.ts';
import { namesOf } from '../wire/preferences.ts';
import { placeIn } from './filter.ts';

type Restrictions = KeyRestrictions | null;

/**
 * The requested models that the key may use, in order (spec:api/21.2). Refuses with `400
 * model_not_found` when there is none.
 */
export function allowedModels(models: readonly Model[], restrictions: Restrictions): readonly Model[] {
  if (restrictions?.allowed_models === undefined) return models;
  const { allowed_models: allowed } = restrictions;
  const kept = models.filter(({ id }) => isNamed(id, allowed));
  const [first] = models;
  if (first === undefined || kept.length > 0) return kept;
  throw refuse('model_not_found', messages.modelNotAllowed(first.id), { model: first.id });
}

/** Whether a key can be served this model at all: the model and one of its candidates are allowed. */
export function isOffered({ id, candidates }: Model, restrictions: Restrictions): boolean {
  const { allowed_models: models, allowed_providers: providers } = restrictions ?? {};
  if (models !== undefined && !isNamed(id, models)) return false;
  const names = namesOf(providers);
  return names === null || candidates.some((candidate) => placeIn(names, candidate) !== null);
}

/**
 * Refuses restrictions with `400 invalid_request` that name what the catalogue does not have: a
 * mistyped name would lock the key out.
 */
export function assertKnown({ models }: Catalogue, stated: RestrictionChange = {}): void {
  for (const name of stated.allowed_models ?? []) {
    if (!models.some(({ id }) => isNamed(id, [name])))
      throw refuse('invalid_request', messages.noModelMatches(name));
  }
  for (const name of stated.allowed_providers ?? []) {
    if (!models.some((model) => isOffered(model, { allowed_providers: [name] })))
      throw refuse('invalid_request', messages.noProviderMatches(name));
  }
}

/** `openai/*` names every id that begins with `openai/`; without the `*` a name is the whole id. */
function isNamed(id: string, names: readonly string[]): boolean {
  return names.some((name) => name === id || (name.endsWith('*') && id.startsWith(name.slice(0, -1))));
}
