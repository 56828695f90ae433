import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type CliPaths, type Settings, settingsOf, sourceOf } from '../app/config-source.ts';
import type { ProcessContext } from '../app/process-context.ts';
import { fetchListing } from '../catalogue/listing/fetch-listing.ts';
import { metadataOfListing, type ReadListing } from '../catalogue/listing/listing.ts';
import { changesOf, type MetadataChange, mergeMetadata } from '../catalogue/listing/merge.ts';
import { defaultMetadata, metadataFileOf, writeWhole } from '../catalogue/model-metadata-file.ts';
import { factsFileOf } from '../config/load.ts';
import {
  checkMetadata,
  jsonOf,
  type ModelMetadata,
  ModelMetadataError,
  maxMetadataBytes,
  parseMetadata,
} from '../config/model-metadata/metadata.ts';
import { shippedFacts } from '../config/model-metadata/shipped.ts';
import { readText } from '../config/read-text.ts';
import { OperatorError } from '../errors/operator-error.ts';
import { systemClock } from '../time/clock.ts';
import { isoDay, seoulDayAt } from '../time/period.ts';

/** The outcome of replacing the local copy of the model metadata; ids are sorted. */
export interface RefreshedMetadata {
  readonly path: string;
  readonly asOf: string;
  readonly source: string;
  readonly models: number;
  readonly added: readonly string[];
  readonly gone: readonly string[];
  /** Models whose price differs from the previous copy. */
  readonly priced: readonly string[];
  /** The number of skipped rows by reason. */
  readonly left: ReadonlyMap<string, number>;
}

/**
 * The model metadata that a configuration uses, even if that has faults. Throws an `OperatorError`
 * when it is unusable.
 */
export async function readMetadata(
  paths: CliPaths,
  proc: ProcessContext,
): Promise<ModelMetadata & { readonly origin: string }> {
  const settings = settingsOf(paths, proc);
  const named = namedFile(settings, proc);
  const source =
    named === null
      ? defaultMetadata(settings.dataDir)
      : { read: () => readText(named, maxMetadataBytes), origin: named };
  return { ...orError(source.origin, () => parseMetadata(source.read())), origin: source.origin };
}

/**
 * Replaces the local copy of the model metadata with a file, a listing at a URL, or the copy
 * shipped with Naru (null). Served models do not change. Throws an `OperatorError` and keeps the
 * old copy when the source is unusable.
 */
export async function refreshMetadata(
  paths: CliPaths,
  from: string | null,
  proc: ProcessContext,
): Promise<RefreshedMetadata> {
  const settings = settingsOf(paths, proc);
  const path = namedFile(settings, proc) ?? metadataFileOf(settings.dataDir);
  const { file, left } = await readFrom(from, proc);
  const before = oldFacts(path);
  const after = orError(path, () => parseMetadata(JSON.stringify(file)));
  writeWhole(path, `${JSON.stringify(file, null, 1)}\n`);
  const priced = [...after.models].filter(
    ([id, fact]) => before.has(id) && JSON.stringify(before.get(id)?.price) !== JSON.stringify(fact.price),
  );
  return {
    ...{ path, asOf: after.asOf, source: after.source, models: after.models.size, left },
    added: [...after.models.keys()].filter((id) => !before.has(id)),
    gone: [...before.keys()].filter((id) => !after.models.has(id)),
    priced: priced.map(([id]) => id),
  };
}

/** What `naru models update` did, or would do. */
export interface UpdatedMetadata {
  readonly path: string;
  readonly asOf: string;
  readonly source: string;
  readonly models: number;
  readonly added: readonly string[];
  readonly changed: readonly MetadataChange[];
  readonly left: ReadonlyMap<string, number>;
}

/**
 * Merges the model metadata of a file into the local copy, or into what is shipped with Naru where
 * there is none. Prices stay as they are, and a new model has none (spec:operator/2.7). Writes
 * nothing on a dry run, and when the file is unusable: then throws an `OperatorError`.
 */
export async function updateMetadata(
  paths: CliPaths,
  { from, isDryRun }: { readonly from: string; readonly isDryRun: boolean },
  proc: ProcessContext,
): Promise<UpdatedMetadata> {
  const settings = settingsOf(paths, proc);
  const path = namedFile(settings, proc) ?? metadataFileOf(settings.dataDir);
  const current = existsSync(path)
    ? orError(path, () => parseMetadata(readSmall(path)))
    : parseMetadata(shippedFacts.read());
  const { file: found, left } = await readFrom(from, proc, current.models);
  const models = mergeMetadata(current.models, found.models, 'keep');
  const changed = changesOf(current.models, models);
  const { as_of: asOf, source } = found;
  const file = checkMetadata({ as_of: asOf, prices_as_of: current.pricesAsOf, source, models: [...models] });
  if (!isDryRun) writeWhole(path, `${JSON.stringify(file, null, 1)}\n`);
  const added = models.map(({ id }) => id).filter((id) => !current.models.has(id));
  return { path, asOf, source, models: models.length, added, changed, left };
}

async function readFrom(
  from: string | null,
  proc: ProcessContext,
  current: ModelMetadata['models'] = new Map(),
): Promise<ReadListing> {
  if (from === null) return { file: checkMetadata(jsonOf(shippedFacts.read())), left: new Map() };
  const isUrl = /^https?:/i.test(from);
  const path = isUrl ? from : resolve(proc.cwd, from);
  const text = isUrl ? await fetched(from) : readSmall(path);
  const known = new Map([...parseMetadata(shippedFacts.read()).models, ...current]);
  const about = { asOf: isoDay(seoulDayAt(systemClock.now())), source: shownSource(path), known };
  return orError(path, () => metadataOfListing(jsonOf(text), about));
}

async function fetched(url: string): Promise<string> {
  try {
    return await fetchListing(url);
  } catch (error) {
    if (error instanceof ModelMetadataError)
      throw new OperatorError(`no model metadata from ${shownSource(url)}: ${error.message}`);
    throw error;
  }
}

function readSmall(path: string): string {
  return orError(path, () => readText(path, maxMetadataBytes));
}

/** The current copy; empty when there is none or it is damaged. */
function oldFacts(path: string): ModelMetadata['models'] {
  try {
    return parseMetadata(readText(path, maxMetadataBytes)).models;
  } catch {
    return new Map();
  }
}

function namedFile(settings: Settings, proc: ProcessContext): string | null {
  return factsFileOf(sourceOf(settings, proc));
}

/** A query may hold a credential. */
function shownSource(from: string): string {
  return from.replace(/[?#].*$/, '').replace(/\/\/[^/@]*@/, '//');
}

function orError<T>(origin: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const code =
      error instanceof Error && 'code' in error ? `it cannot be read (${String(error.code)})` : null;
    if (error instanceof ModelMetadataError)
      throw new OperatorError(`no model metadata from ${shownSource(origin)}: ${error.message}`);
    if (code !== null) throw new OperatorError(`no model metadata from ${shownSource(origin)}: ${code}`);
    throw error;
  }
}
