import type { Config } from '../config/config.ts';
import { recordChange } from '../store/changes.ts';
import type { Database } from '../store/database.ts';
import type { Sql, Transactions } from '../store/sql.ts';
import {
  type CatalogueChange,
  type ConfiguredPrice,
  differenceOf,
  isSamePrice,
  offeredBy,
  offerKey,
} from './difference.ts';
import {
  insertPrice,
  latestPrices,
  type PriceVersion,
  readPricedModels,
  readPriceHistory,
  readPrices,
} from './prices-sql.ts';
import {
  insertPublication,
  lastPublication,
  lockCatalogue,
  type PublishedCandidate,
} from './publications-sql.ts';

/** The result of publishing a configuration. */
export interface Publication {
  /** The edition that is current now: a new one, or the one before when nothing changed. */
  readonly edition: number;
  /** The changes of the configuration against the edition before. */
  readonly changes: readonly CatalogueChange[];
  /** False: it was not permitted, and the changes are only proposed. */
  readonly isPublished: boolean;
}

/** Who publishes, and when it may. */
export interface Publishing {
  readonly atMs: number;
  /**
   * `catalogue`: running servers read their configuration again, whether anything changed or not;
   * `edition`: only when it changed.
   */
  readonly announce: 'catalogue' | 'edition';
  /** Decides in the transaction, for changes of an edition that exists; may throw. */
  readonly permit?: (sql: Sql, changes: readonly CatalogueChange[]) => Promise<boolean>;
}

/**
 * Publishes what a configuration offers: a new version for every price that changed or is converted
 * otherwise, and a new edition when anything changed. Processes that publish at once follow each
 * other, so one price becomes one version. Every node bills the new edition a second later
 * (spec:money/2.6).
 */
export async function publishPrices(
  database: Transactions,
  config: Config,
  { atMs, announce, permit }: Publishing,
): Promise<Publication> {
  const offered = offeredBy(config);
  return database.transaction(async (sql) => {
    await lockCatalogue(sql);
    const current = await lastPublication(sql);
    const changes = differenceOf(await offersOf(sql, current?.offers ?? []), offered);
    if (current !== null && permit !== undefined && !(await permit(sql, changes)))
      return { edition: current.id, changes, isPublished: false };
    const offers = await versionsFor(sql, offered, atMs);
    const isSame = current !== null && sameOffers(current.offers, offers);
    const edition = isSame ? current.id : await insertPublication(sql, offers, atMs);
    if (announce === 'catalogue' || !isSame) await recordChange(sql, announce, edition);
    return { edition, changes, isPublished: true };
  });
}

/** The changes that publishing this configuration would make. */
export async function differenceTo(database: Database, config: Config): Promise<readonly CatalogueChange[]> {
  return differenceOf(await readPublished(database), offeredBy(config));
}

/** What is published now, in the order of the catalogue. */
export async function readPublished(database: Database): Promise<readonly PriceVersion[]> {
  return offersOf(database, (await lastPublication(database))?.offers ?? []);
}

/** The current edition and what it offers; null before the first publication. */
export async function readCurrentEdition(database: Sql): Promise<{
  readonly edition: { readonly id: number; readonly publishedAtMs: number } | null;
  readonly published: readonly PriceVersion[];
}> {
  const current = await lastPublication(database);
  if (current === null) return { edition: null, published: [] };
  const { id, publishedAtMs, offers } = current;
  return { edition: { id, publishedAtMs }, published: await offersOf(database, offers) };
}

/**
 * Every published price of one model, or of all of them, oldest first. For a model that never had
 * one: the models that have.
 */
export async function readHistory(
  database: Database,
  model: string | null,
): Promise<{ readonly versions: readonly PriceVersion[] } | { readonly known: readonly string[] }> {
  const versions = await readPriceHistory(database, model);
  return versions.length > 0 || model === null ? { versions } : { known: await readPricedModels(database) };
}

async function versionsFor(
  sql: Sql,
  offered: readonly ConfiguredPrice[],
  publishedAtMs: number,
): Promise<readonly PublishedCandidate[]> {
  const latest = new Map((await latestPrices(sql)).map((version) => [offerKey(version), version]));
  const offers: PublishedCandidate[] = [];
  for (const offer of offered) {
    const before = latest.get(offerKey(offer));
    const isSame = before !== undefined && isSamePrice(before, offer);
    const priceVersion = isSame ? before.id : await insertPrice(sql, { ...offer, publishedAtMs });
    offers.push({ model: offer.model, candidate: offer.candidate, priceVersion });
  }
  return offers;
}

async function offersOf(sql: Sql, offers: readonly PublishedCandidate[]): Promise<readonly PriceVersion[]> {
  const ids = offers.map((offer) => offer.priceVersion);
  const versions = new Map((await readPrices(sql, ids)).map((version) => [version.id, version]));
  return ids.flatMap((id) => versions.get(id) ?? []);
}

function sameOffers(before: readonly PublishedCandidate[], after: readonly PublishedCandidate[]): boolean {
  const text = (offers: readonly PublishedCandidate[]): string =>
    JSON.stringify(offers.map((offer) => [offer.model, offer.candidate, offer.priceVersion]));
  return text(before) === text(after);
}
