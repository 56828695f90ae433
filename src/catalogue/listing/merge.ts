import type { ModelMetadata, ModelMetadataEntry } from '../../config/model-metadata/metadata.ts';
import { modalities } from '../../config/schema-models.ts';

/** A member of a model whose value a source changes; undefined: unknown. */
export interface MetadataChange {
  readonly id: string;
  readonly member: string;
  readonly before: unknown;
  readonly after: unknown;
}

/**
 * The metadata with what a source states. It loses nothing: models, kinds of input and texts that
 * the source lacks stay. Prices are taken from the source only on request.
 */
export function mergeMetadata(
  before: ModelMetadata['models'],
  found: readonly ModelMetadataEntry[],
  prices: 'keep' | 'take',
): readonly ModelMetadataEntry[] {
  const merged = new Map(before);
  for (const entry of found) merged.set(entry.id, mergedEntry(before.get(entry.id), entry, prices));
  return [...merged.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** The members that differ, of models that both have. */
export function changesOf(
  before: ModelMetadata['models'],
  after: readonly ModelMetadataEntry[],
): readonly MetadataChange[] {
  return after.flatMap((entry) => {
    const old = before.get(entry.id);
    if (old === undefined) return [];
    const names = [...new Set([...Object.keys(old), ...Object.keys(entry)])] as (keyof ModelMetadataEntry)[];
    return names
      .filter((name) => JSON.stringify(old[name]) !== JSON.stringify(entry[name]))
      .map((member) => ({ id: entry.id, member, before: old[member], after: entry[member] }));
  });
}

function mergedEntry(
  before: ModelMetadataEntry | undefined,
  { price: found, ...facts }: ModelMetadataEntry,
  prices: 'keep' | 'take',
): ModelMetadataEntry {
  const { price: old, ...known } = before ?? { id: facts.id };
  const price = prices === 'keep' ? old : mergedPrice(old, found);
  const inputs = new Set([...(known.input_modalities ?? []), ...(facts.input_modalities ?? [])]);
  const kept = { name: known.name, description: known.description, tokenizer: known.tokenizer };
  const merged = {
    ...known,
    ...facts,
    ...Object.fromEntries(Object.entries(kept).filter(([, text]) => text !== undefined)),
    ...(inputs.size === 0 ? {} : { input_modalities: modalities.filter((one) => inputs.has(one)) }),
    ...(price === undefined ? {} : { price }),
  };
  const { context_length: context = Number.POSITIVE_INFINITY, max_completion_tokens: max } = merged;
  return max === undefined ? merged : { ...merged, max_completion_tokens: Math.min(max, context) };
}

/** Prices of the cache that the source does not state stay while the others are the same. */
function mergedPrice(
  old: ModelMetadataEntry['price'],
  found: ModelMetadataEntry['price'],
): ModelMetadataEntry['price'] {
  if (found === undefined) return old;
  const isSame = old?.prompt === found.prompt && old.completion === found.completion;
  return isSame ? { ...old, ...found } : found;
}
