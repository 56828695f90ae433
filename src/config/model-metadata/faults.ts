import type { Path } from '../fault.ts';
import { hint } from '../nearest.ts';
import type { SourceMap } from '../source-map.ts';
import { has, type Members, textOf } from '../tree.ts';
import type { AppliedMetadata } from './apply-metadata.ts';
import type { ModelMetadata } from './metadata.ts';

/** The facts that a file was filled from; null without facts. */
export interface KnownMetadata {
  readonly metadata: ModelMetadata | null;
  readonly applied: AppliedMetadata | null;
}

/**
 * Reports what a row of `models` lacks that neither it nor the public facts state, and a missing or
 * ambiguous candidate.
 */
export function addMetadataFaults(
  model: Members,
  path: Path,
  sourceMap: SourceMap,
  known: KnownMetadata,
): void {
  const ways = ['candidates', 'provider', 'slot'].filter((way) => has(model, way));
  if (ways.length === 0)
    sourceMap.add([...path, 'candidates'], 'is missing: needs candidates, or one provider or slot');
  if (ways.length > 1)
    sourceMap.add(
      [...path, ways[1] ?? ''],
      `is used together with ${ways[0]}: needs only one of them`,
      'name',
    );
  if (has(model, 'model') && !has(model, 'provider'))
    sourceMap.add([...path, 'model'], 'has no effect without provider', 'name');
  const metadata = messageOf(model, path, sourceMap, known);
  if (!has(model, 'context_length')) sourceMap.add([...path, 'context_length'], `is missing${metadata}`);
  if (!has(model, 'candidates') && ways.length > 0 && !has(model, 'price'))
    sourceMap.add([...path, 'price'], `is missing${metadata}: a model without a price cannot be served`);
}

/** Whether the price of a model comes from the public facts. */
export function isFactPrice(model: Members, { applied }: KnownMetadata): boolean {
  const id = textOf(model, 'id');
  return applied?.models.some((one) => one.id === id && one.members.includes('price')) ?? false;
}

/** Why the facts do not help; follows "is missing". */
function messageOf(model: Members, path: Path, sourceMap: SourceMap, { metadata }: KnownMetadata): string {
  const id = textOf(model, 'id');
  if (textOf(model, 'facts') === 'false') return ', and facts: false takes none from the public facts';
  if (metadata === null || id === undefined) return '';
  const whose = `the public facts of ${metadata.asOf}`;
  if (metadata.models.has(id)) return `, and ${whose} do not state it either`;
  const shown = sourceMap.isFromOutside([...path, 'id']) ? 'that model' : JSON.stringify(id);
  return `, and ${whose} do not know ${shown}${hint(id, metadata.models.keys())}`;
}
