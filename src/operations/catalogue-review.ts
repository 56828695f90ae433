import { createHash } from 'node:crypto';
import type { CatalogueChange } from '../catalogue/difference.ts';
import type { PriceVersion } from '../catalogue/prices-sql.ts';
import { differenceTo, readCurrentEdition } from '../catalogue/publish.ts';
import type { Config, ExchangeConfig } from '../config/config.ts';
import { rateOf, unitsOf } from '../config/rates.ts';
import { OperatorError } from '../errors/operator-error.ts';
import type { Database } from '../store/database.ts';

/** What is published, and what the configuration file would change. */
export interface CatalogueReview {
  /** Null before the first publication. */
  readonly edition: { readonly id: number; readonly publishedAtMs: number } | null;
  readonly published: readonly PriceVersion[];
  readonly file: ReviewedFile;
}

/** The configuration file as it is now. */
export type ReviewedFile =
  | {
      readonly kind: 'readable';
      readonly exchange: ExchangeConfig | null;
      readonly metadata: Config['metadata'];
      readonly changes: readonly CatalogueChange[];
      /** Changes with what a publication would do. */
      readonly digest: string;
    }
  /** It cannot be published; `fault` lists why, in English. */
  | { readonly kind: 'faulty'; readonly fault: string };

/** Compares the published prices with a configuration, which is read now. */
export async function reviewCatalogue(
  database: Database,
  readConfig: () => Config,
): Promise<CatalogueReview> {
  const { edition, published } = await readCurrentEdition(database);
  let config: Config;
  try {
    config = readConfig();
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return { edition, published, file: { kind: 'faulty', fault: error.message } };
  }
  const changes = await differenceTo(database, config);
  const { exchange, metadata } = config;
  return {
    edition,
    published,
    file: { kind: 'readable', exchange, metadata, changes, digest: digestOf(edition, changes) },
  };
}

function digestOf(edition: CatalogueReview['edition'], changes: readonly CatalogueChange[]): string {
  const text = JSON.stringify([edition?.id ?? null, changes], (_name, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
  return createHash('sha256').update(text).digest('hex');
}

/**
 * What a price in dollars earns above its cost at an exchange rate, in percent; null for one in
 * won, whose cost is not known. Of a prompt and a completion token together.
 */
export function marginAt({ price, stated }: PriceVersion, usdKrw: string | null): number | null {
  if (stated.currency !== 'USD' || usdKrw === null) return null;
  const exchange = { usdKrw, marginPercent: '0' };
  const cost = [stated.prompt, stated.completion].reduce(
    (sum, text) => sum + (rateOf(text, unitsOf[stated.per], exchange) ?? 0n),
    0n,
  );
  if (cost === 0n) return null;
  return Number(((price.prompt + price.completion - cost) * 1_000_000n) / cost) / 10_000;
}
