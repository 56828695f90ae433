import { resolve } from 'node:path';
import type { CliPaths } from '../app/cli-options.ts';
import { type Settings, settingsOf, sourceOf } from '../app/config-source.ts';
import { factsCopyOf, usualFacts, writeWhole } from '../app/model-metadata-file.ts';
import type { ProcessContext } from '../app/process-context.ts';
import { fetchListing } from '../catalogue/fetch-listing.ts';
import { factsFileOf } from '../config/load.ts';
import { factsOfListing, type ReadListing } from '../config/model-metadata/listing.ts';
import {
  checkFacts,
  type Facts,
  FactsFault,
  jsonOf,
  largestFactsBytes,
  parseFacts,
} from '../config/model-metadata/metadata.ts';
import { shippedFacts } from '../config/model-metadata/shipped.ts';
import { readText } from '../config/read-text.ts';
import { OperatorError } from '../errors/operator-error.ts';
import { systemClock } from '../time/clock.ts';
import { isoDay, seoulDayAt } from '../time/period.ts';

/** What replacing the copy of the public facts came to; ids, in order. */
export interface RefreshedFacts {
  readonly path: string;
  readonly asOf: string;
  readonly source: string;
  readonly models: number;
  readonly added: readonly string[];
  readonly gone: readonly string[];
  /** With another price than in the copy before. */
  readonly priced: readonly string[];
  /** Rows that were not understood, by the reason. */
  readonly left: ReadonlyMap<string, number>;
}

/** The public facts that a configuration takes from, whether it has faults or not. Throws a `OperatorError` when they cannot be used. */
export async function readFacts(
  places: CliPaths,
  around: ProcessContext,
): Promise<Facts & { readonly origin: string }> {
  const settings = settingsOf(places, around);
  const named = namedFile(settings, around);
  const source =
    named === null
      ? usualFacts(settings.dataDir)
      : { read: () => readText(named, largestFactsBytes), origin: named };
  return { ...orError(source.origin, () => parseFacts(source.read())), origin: source.origin };
}

/**
 * Replaces the operator's copy of the public facts: by a file, a listing at a URL, or what came with Naru (null). Nothing that is
 * served changes by it. Throws a `OperatorError`, and leaves the copy as it is, when there are no facts to be had.
 */
export async function refreshFacts(
  places: CliPaths,
  from: string | null,
  around: ProcessContext,
): Promise<RefreshedFacts> {
  const settings = settingsOf(places, around);
  const path = namedFile(settings, around) ?? factsCopyOf(settings.dataDir);
  const { file, left } = await readFrom(from, around);
  const before = oldFacts(path);
  const after = orError(path, () => parseFacts(JSON.stringify(file)));
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

async function readFrom(from: string | null, around: ProcessContext): Promise<ReadListing> {
  if (from === null) return { file: checkFacts(jsonOf(shippedFacts.read())), left: new Map() };
  const isUrl = /^https?:/i.test(from);
  const path = isUrl ? from : resolve(around.cwd, from);
  const text = isUrl ? await fetched(from) : readSmall(path);
  const known = parseFacts(shippedFacts.read()).models;
  const about = { asOf: isoDay(seoulDayAt(systemClock.now())), source: shownSource(path), known };
  return orError(path, () => factsOfListing(jsonOf(text), about));
}

async function fetched(url: string): Promise<string> {
  try {
    return await fetchListing(url);
  } catch (error) {
    if (error instanceof FactsFault)
      throw new OperatorError(`no facts from ${shownSource(url)}: ${error.message}`);
    throw error;
  }
}

function readSmall(path: string): string {
  return orError(path, () => readText(path, largestFactsBytes));
}

/** What the copy has now; nothing when there is none, or it is damaged and about to be mended. */
function oldFacts(path: string): Facts['models'] {
  try {
    return parseFacts(readText(path, largestFactsBytes)).models;
  } catch {
    return new Map();
  }
}

function namedFile(settings: Settings, around: ProcessContext): string | null {
  return factsFileOf(sourceOf(settings, around));
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
    if (error instanceof FactsFault)
      throw new OperatorError(`no facts from ${shownSource(origin)}: ${error.message}`);
    if (code !== null) throw new OperatorError(`no facts from ${shownSource(origin)}: ${code}`);
    throw error;
  }
}
