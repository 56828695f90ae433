import { hint } from '../nearest.ts';
import type { KnownMetadata, ModelMapping } from './context.ts';

/**
 * Reports what a row of `models` lacks that neither it nor the public facts state, and a missing or
 * ambiguous candidate.
 */
export function checkMembers(row: ModelMapping, known: KnownMetadata): void {
  const ways = (['candidates', 'provider', 'slot'] as const).filter((way) => row.states(way));
  const [first, second] = ways;
  if (first === undefined) row.addAt('candidates', 'is missing: needs candidates, or one provider or slot');
  if (second !== undefined) row.addAtName(second, `is used together with ${first}: needs only one of them`);
  if (row.states('model') && !row.states('provider'))
    row.addAtName('model', 'has no effect without provider');
  const reason = whyNoFacts(row, known);
  if (!row.states('context_length')) row.addAt('context_length', `is missing${reason}`);
  if (!row.states('candidates') && first !== undefined && !row.states('price'))
    row.addAt('price', `is missing${reason}: a model without a price cannot be served`);
}

/** Whether the price of a model comes from the public facts. */
export function isFactPrice(row: ModelMapping, { applied }: KnownMetadata): boolean {
  const id = row.text('id');
  return applied?.models.some((one) => one.id === id && one.members.includes('price')) ?? false;
}

/** Why the facts do not help; follows "is missing". */
function whyNoFacts(row: ModelMapping, { metadata }: KnownMetadata): string {
  const id = row.text('id');
  if (row.value('facts') === false) return ', and facts: false takes none from the public facts';
  if (metadata === null || id === undefined) return '';
  const whose = `the public facts of ${metadata.asOf}`;
  if (metadata.models.has(id)) return `, and ${whose} do not state it either`;
  return `, and ${whose} do not know ${row.shown('id', 'that model')}${hint(id, metadata.models.keys())}`;
}
