import type { Path } from '../fault.ts';
import { hint } from '../nearest.ts';
import type { Places } from '../source-map.ts';
import { has, type Members, textOf } from '../tree.ts';
import type { FactsTaken } from './apply-metadata.ts';
import type { Facts } from './metadata.ts';

/** The facts that a file was filled from; null when it was not. */
export interface KnownFacts {
  readonly facts: Facts | null;
  readonly taken: FactsTaken | null;
}

/** Says what a row of `models` lacks that neither it nor the public facts state, and how it fails to say who serves it. */
export function addFactFaults(model: Members, path: Path, places: Places, known: KnownFacts): void {
  const ways = ['candidates', 'provider', 'slot'].filter((way) => has(model, way));
  if (ways.length === 0)
    places.add([...path, 'candidates'], 'is missing: needs candidates, or one provider or slot');
  if (ways.length > 1)
    places.add([...path, ways[1] ?? ''], `stands beside ${ways[0]}: needs only one of them`, 'name');
  if (has(model, 'model') && !has(model, 'provider'))
    places.add([...path, 'model'], 'means nothing without provider', 'name');
  const facts = wordsOf(model, path, places, known);
  if (!has(model, 'context_length')) places.add([...path, 'context_length'], `is missing${facts}`);
  if (!has(model, 'candidates') && ways.length > 0 && !has(model, 'price'))
    places.add([...path, 'price'], `is missing${facts}: what has no price cannot be served`);
}

/** Whether the price of a model was filled in from the public facts. */
export function isFactPrice(model: Members, { taken }: KnownFacts): boolean {
  const id = textOf(model, 'id');
  return taken?.models.some((one) => one.id === id && one.members.includes('price')) ?? false;
}

/** Why the facts do not help, behind "is missing". */
function wordsOf(model: Members, path: Path, places: Places, { facts }: KnownFacts): string {
  const id = textOf(model, 'id');
  if (textOf(model, 'facts') === 'false') return ', and facts: false takes none from the public facts';
  if (facts === null || id === undefined) return '';
  const whose = `the public facts of ${facts.asOf}`;
  if (facts.models.has(id)) return `, and ${whose} do not state it either`;
  const shown = places.isFromOutside([...path, 'id']) ? 'that model' : JSON.stringify(id);
  return `, and ${whose} do not know ${shown}${hint(id, facts.models.keys())}`;
}
