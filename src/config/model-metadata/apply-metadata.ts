import type { Tree } from '../read-yaml.ts';
import type { SourceMap } from '../source-map.ts';
import { has, itemsOf, type Members, memberOf, membersOf, textOf } from '../tree.ts';
import {
  type ModelMetadata,
  type ModelMetadataEntry,
  ModelMetadataError,
  type ModelMetadataSource,
  parseMetadata,
} from './metadata.ts';

/** What one row of the file takes from the public facts. */
export interface AppliedModel {
  readonly id: string;
  /** The names in the file of the members that were filled in. */
  readonly members: readonly string[];
  /** The price that was taken, as text; null when none was. */
  readonly price: string | null;
  /** The upstream's name of the model, where the row does not state it. */
  readonly asks: string | null;
  /** Charges of the source beside that price, which Naru cannot bill. */
  readonly unbilled: readonly string[];
}

/** The public facts of a configuration, and what it takes from them. */
export interface AppliedMetadata {
  readonly asOf: string;
  readonly pricesAsOf: string;
  readonly source: string;
  /** The location of the facts file, for people. */
  readonly origin: string;
  readonly models: readonly AppliedModel[];
}

/**
 * The file's tree with the facts filled in. `facts` is null when no row needs any, or none are
 * available.
 */
export interface MetadataResult {
  readonly tree: Tree;
  readonly metadata: ModelMetadata | null;
  readonly applied: AppliedMetadata | null;
}

const plainNames = [
  ...['name', 'description', 'created', 'context_length', 'max_completion_tokens', 'input_modalities'],
  ...['output_modalities', 'hugging_face_id', 'knowledge_cutoff', 'tokenizer'],
] as const;

/**
 * Fills in the members that the models of a file omit: a row's own values take precedence, and
 * `facts: false` takes nothing. Parameters are not among them: what metadata does not list is
 * unknown, and unknown is not "not supported" (spec:operator/2.6). Unusable facts are a fault: nothing is served at a price that the
 * operator did not see.
 */
export function applyMetadata(
  tree: Tree,
  source: ModelMetadataSource | null,
  sourceMap: SourceMap,
): MetadataResult {
  const file = membersOf(tree);
  const wanting = itemsOf(file, 'models').filter(([, row]) => textOf(row, 'facts') !== 'false');
  const nothing = { tree, metadata: null, applied: null };
  if (source === null || wanting.length === 0) return nothing;
  const metadata = readFacts(source, file, sourceMap);
  if (metadata === null) return nothing;
  const models: Tree[] = [...(memberOf(file, 'models') as readonly Tree[])];
  const applied: AppliedModel[] = [];
  for (const [index, row] of wanting) {
    const fact = metadata.models.get(textOf(row, 'id') ?? '');
    if (fact === undefined) continue;
    const added = { ...plainMembers(row, fact), ...priceMembers(row, fact), ...makerMembers(row, fact) };
    models[index] = { ...row, ...added };
    const { model, ...members } = added;
    const unbilled = 'price' in added ? (fact.price?.unbilled ?? []) : [];
    if (Object.keys(added).length > 0)
      applied.push({
        id: fact.id,
        members: Object.keys(members),
        price: 'price' in added ? `USD ${fact.price?.prompt}/${fact.price?.completion} per 1M` : null,
        asks: typeof model === 'string' ? model : null,
        unbilled,
      });
  }
  const { asOf, pricesAsOf, source: stated } = metadata;
  return {
    tree: { ...file, models },
    metadata,
    applied: { asOf, pricesAsOf, source: stated, origin: source.origin, models: applied },
  };
}

function readFacts(source: ModelMetadataSource, file: Members, sourceMap: SourceMap): ModelMetadata | null {
  try {
    return parseMetadata(source.read());
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'it cannot be read';
    const reason = error instanceof ModelMetadataError ? error.message : code;
    const message = `the facts of models (${source.origin}) cannot be used: ${reason}; naru models refresh writes new ones`;
    sourceMap.add(has(file, 'facts') ? ['facts', 'file'] : [], message);
    return null;
  }
}

function plainMembers(row: Members, fact: ModelMetadataEntry): Record<string, Tree> {
  const added: Record<string, Tree> = {};
  for (const name of plainNames) {
    const value = fact[name];
    if (value !== undefined && !has(row, name)) added[name] = Array.isArray(value) ? value : String(value);
  }
  // A context that the row has made smaller also limits the completion.
  const own = Number(textOf(row, 'context_length'));
  if (own > 0 && Number(added['max_completion_tokens']) > own) added['max_completion_tokens'] = String(own);
  return added;
}

/** The price, where the row needs one: it states none, and not every candidate has its own. */
function priceMembers(row: Members, { price }: ModelMetadataEntry): Record<string, Tree> {
  const candidates = itemsOf(row, 'candidates');
  const allPriced = candidates.length > 0 && candidates.every(([, candidate]) => has(candidate, 'price'));
  if (price === undefined || has(row, 'price') || allPriced) return {};
  const { unbilled, ...amounts } = price;
  const stated = Object.entries(amounts).filter((one): one is [string, string] => one[1] !== undefined);
  return { price: { ...Object.fromEntries(stated), currency: 'USD', per: '1M' } };
}

/**
 * The maker's own name of the model, for a row that its maker serves: without the author, unless
 * the facts state another name.
 */
function makerMembers(row: Members, { id, maker_model }: ModelMetadataEntry): Record<string, Tree> {
  const isMakers = textOf(row, 'provider') === id.split('/')[0] && !has(row, 'model');
  return isMakers ? { model: maker_model ?? id.slice(id.indexOf('/') + 1) } : {};
}
