import type { Config } from '../config/config.ts';
import type { Sql } from '../store/sql.ts';
import { buildCatalogue, type Catalogue, type PricedOffer } from './catalogue.ts';
import { differenceOf, offeredBy, offerKey } from './difference.ts';
import { readCurrentEdition } from './publish.ts';

/** What a node serves, for its operator. */
export interface ServedEdition {
  /** The published edition whose prices it bills; 0: nothing was published yet. */
  readonly edition: number;
  /** How many prices its configuration adds, lacks or states otherwise. */
  readonly differences: number;
}

/** A published edition: its prices by `offerKey`. */
interface PricedEdition {
  readonly id: number;
  readonly prices: ReadonlyMap<string, PricedOffer>;
  readonly differencesTo: (config: Config) => number;
}

/**
 * The catalogue of a configuration at the prices of the published edition, which alone are billed
 * (spec:money/2.6). Replaced as a whole.
 */
export class PricedCatalogue {
  readonly #sql: Sql;
  #config: Config;
  #edition: PricedEdition;
  #catalogue: Catalogue;
  #served: ServedEdition;

  private constructor(sql: Sql, config: Config, edition: PricedEdition) {
    this.#sql = sql;
    this.#config = config;
    this.#edition = edition;
    this.#catalogue = buildCatalogue(config, edition.prices);
    this.#served = servedOf(config, edition);
  }

  /** Reads the current edition. */
  static async open(sql: Sql, config: Config): Promise<PricedCatalogue> {
    return new PricedCatalogue(sql, config, await readEdition(sql));
  }

  get catalogue(): Catalogue {
    return this.#catalogue;
  }

  get config(): Config {
    return this.#config;
  }

  /** The edition for which `apply` completed last. */
  get served(): ServedEdition {
    return this.#served;
  }

  /**
   * Takes the prices of a newer edition before anything else is billed. What that edition withdraws
   * is served until `apply` follows: the configuration that has its successor comes a moment later.
   */
  async takePrices(): Promise<void> {
    const next = await readEdition(this.#sql);
    if (next.id <= this.#edition.id) return;
    this.#edition = { ...next, prices: new Map([...this.#edition.prices, ...next.prices]) };
    this.#catalogue = buildCatalogue(this.#config, this.#edition.prices);
  }

  /** Puts a configuration into effect at the current edition; `follow` is called at that moment. */
  async apply(config: Config, follow: () => void = () => {}): Promise<void> {
    let edition = await readEdition(this.#sql);
    // Another was taken meanwhile.
    if (edition.id < this.#edition.id) edition = await readEdition(this.#sql);
    this.#config = config;
    this.#edition = edition;
    this.#catalogue = buildCatalogue(config, edition.prices);
    this.#served = servedOf(config, edition);
    follow();
  }
}

async function readEdition(sql: Sql): Promise<PricedEdition> {
  const { edition, published } = await readCurrentEdition(sql);
  return {
    id: edition?.id ?? 0,
    prices: new Map(published.map((version) => [offerKey(version), version])),
    differencesTo: (config) => differenceOf(published, offeredBy(config)).length,
  };
}

function servedOf(config: Config, edition: PricedEdition): ServedEdition {
  return { edition: edition.id, differences: edition.differencesTo(config) };
}
