import { hint } from '../nearest.ts';
import type { CandidateMapping, ModelContext, ModelMapping } from './context.ts';
import { checkMembers } from './metadata.ts';
import { checkPrices } from './prices.ts';

/** Reports the faults between the members of a model and its candidates. */
export function checkModel(row: ModelMapping, context: ModelContext): void {
  checkMembers(row, context.known);
  checkCompletion(row, row);
  checkTargets(row, context);
  checkMax(row, row, context);
  const seen = new Map<string, number>();
  row.mappings('candidates').forEach((each, index) => {
    checkCandidate(each, context);
    checkCompletion(each, row);
    checkMax(each, row, context);
    checkTwin(each, row, index, seen);
  });
  checkPrices(row, context);
}

function checkCandidate(row: CandidateMapping, context: ModelContext): void {
  const ways = (['slot', 'provider'] as const).filter((way) => row.states(way));
  if (ways.length !== 1) row.add(`needs ${ways.length === 0 ? 'one of' : 'only one of'} slot and provider`);
  checkTargets(row, context);
  if (row.states('slot') && row.states('model'))
    row.addAtName('model', "has no effect with slot: the slot's own model is used");
  if (row.value('zdr') === true && row.value('data_collection') === true)
    row.addAt('data_collection', 'contradicts zdr: data that is not retained cannot be collected');
}

/** A model or a candidate: both have these members. */
interface Owner {
  text(name: 'provider' | 'slot' | 'max_completion_tokens'): string | undefined;
  states(name: 'provider' | 'context_length' | 'max_completion_tokens'): boolean;
  value(name: 'context_length' | 'max_completion_tokens'): number | undefined;
  addAt(name: 'provider' | 'slot' | 'max_completion_tokens', message: string): void;
  shown(name: 'provider' | 'slot', otherwise: string): string;
  inBrackets(name: 'context_length'): string;
  notShown(name: 'max_completion_tokens'): string;
}

function checkTargets(row: Owner, { providers, slots }: ModelContext): void {
  for (const [way, known] of [
    ['provider', providers],
    ['slot', slots],
  ] as const) {
    const name = row.text(way);
    if (name === undefined || known.has(name)) continue;
    const none = known.size === 0 ? `: the file has no ${way}s` : hint(name, known.keys());
    row.addAt(way, `no ${way} is called ${row.shown(way, 'that')}${none}`);
  }
}

function checkTwin(
  row: CandidateMapping,
  model: ModelMapping,
  index: number,
  seen: Map<string, number>,
): void {
  const provider = row.text('provider');
  const upstreamModel = row.text('model') ?? model.text('id');
  // The key of its prices: a provider a/b with the model c would collide with a provider a with the
  // model b/c.
  const target = provider === undefined ? `slot/${row.text('slot')}` : `${provider}/${upstreamModel}`;
  const first = seen.get(target);
  if (first !== undefined) row.add(`is the same as candidates[${first}] of this model`);
  else if (row.states('slot') || provider !== undefined) seen.set(target, index);
}

function checkCompletion(row: Owner, model: Owner): void {
  const completion = row.value('max_completion_tokens');
  const owner = row.states('context_length') ? row : model;
  const context = owner.value('context_length');
  if (completion === undefined || context === undefined || completion <= context) return;
  row.addAt(
    'max_completion_tokens',
    `must not be above context_length${owner.inBrackets('context_length')}${row.notShown('max_completion_tokens')}`,
  );
}

/** Anthropic rejects a request without a maximum, and not every client states one. */
function checkMax(row: Owner, model: Owner, { maxRequired }: ModelContext): void {
  if (!row.states('provider') || !maxRequired.has(row.text('provider'))) return;
  if (row.states('max_completion_tokens') || model.states('max_completion_tokens')) return;
  row.addAt(
    'max_completion_tokens',
    'is missing, and the API of Anthropic requires one with each request: state it here or in the model',
  );
}
