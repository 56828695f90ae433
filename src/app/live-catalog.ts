import { type Catalogue, publishCatalogue } from '../catalogue/catalogue.ts';
import type { CatalogueChange } from '../catalogue/difference.ts';
import type { PriceRow } from '../catalogue/prices-sql.ts';
import type { Config } from '../config/config.ts';
import { describeError, type Log } from '../log/log.ts';
import { rateOfPico, rateToDecimal } from '../money/price.ts';
import type { Database } from '../store/database.ts';
import type { Clock } from '../time/clock.ts';
import { openProvider, type Provider } from '../upstreams/providers.ts';

/** What an offer is made with. */
export interface LiveCatalogParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
}

/** What is offered right now: the catalogue with its published prices, and the providers behind it. Replaced as a whole. */
export class LiveCatalog {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #log: Log;
  #config: Config;
  #catalogue: Catalogue;
  #providers: Providers;
  readonly #retiring = new Set<Provider>();
  /** The change asked for last, and all before it. */
  #changed: Promise<void> = Promise.resolve();

  private constructor(
    { database, clock, log }: LiveCatalogParts,
    { config, catalogue, providers }: { config: Config; catalogue: Catalogue; providers: Providers },
  ) {
    this.#database = database;
    this.#clock = clock;
    this.#log = log;
    this.#config = config;
    this.#catalogue = catalogue;
    this.#providers = providers;
  }

  /** Publishes the prices of a configuration and opens its providers. */
  static async open(parts: LiveCatalogParts, config: Config): Promise<LiveCatalog> {
    const providers = openProviders(config);
    const { catalogue, changes } = await publishCatalogue(config, parts.database, parts.clock.now());
    report(parts.log, changes);
    return new LiveCatalog(parts, { config, catalogue, providers });
  }

  get catalogue(): Catalogue {
    return this.#catalogue;
  }

  get config(): Config {
    return this.#config;
  }

  /** The provider of a candidate. A request that was planned before a change may ask for one that is offered no more: null. */
  provider(slug: string): Provider | null {
    return this.#providers.get(slug) ?? null;
  }

  /**
   * Offers what another configuration says, from the next request on; requests in flight end with what they began with. Throws
   * when something changed that only a restart can change; then everything stays as it is. `prepare` makes whatever else follows
   * the configuration ready for it; what it resolves with is called in the moment in which the offer changes. One change at a time: a
   * worker may be told of another one while it takes the one that it missed.
   */
  apply(config: Config, prepare: () => Promise<() => void>): Promise<void> {
    const turn = this.#changed.then(() => this.#apply(config, prepare));
    this.#changed = turn.catch(() => {});
    return turn;
  }

  /** Closes every connection at once, those of replaced providers too. */
  async close(): Promise<void> {
    await closeAll([...this.#providers.values(), ...this.#retiring]);
  }

  async #apply(config: Config, prepare: () => Promise<() => void>): Promise<void> {
    for (const part of ['listen', 'admin', 'database', 'keys', 'settlement', 'edge', 'routing'] as const) {
      if (!isSame(this.#config[part], config[part]))
        throw new Error(`\`${part}\` changed: that takes a restart; nothing was changed`);
    }
    const follow = await prepare();
    const providers = openProviders(config);
    const { catalogue, changes } = await this.#publish(config, providers);
    report(this.#log, changes);
    const before = this.#providers;
    this.#providers = providers;
    this.#catalogue = catalogue;
    this.#config = config;
    follow();
    for (const provider of before.values()) this.#retire(provider);
  }

  /** Providers are opened first: what cannot be offered is not published. */
  async #publish(config: Config, opened: Providers): ReturnType<typeof publishCatalogue> {
    try {
      return await publishCatalogue(config, this.#database, this.#clock.now());
    } catch (error) {
      await closeAll(opened.values());
      throw error;
    }
  }

  /** A request on it may last for minutes: nobody waits for that, least of all the next change. */
  #retire(provider: Provider): void {
    this.#retiring.add(provider);
    provider
      .retire()
      .catch((error: unknown) => this.#log.warn('provider_not_retired', { detail: describeError(error) }))
      .finally(() => this.#retiring.delete(provider));
  }
}

type Providers = ReadonlyMap<string, Provider>;

/** No price changes in silence, wherever it comes from. Won per prompt token / completion token. */
function report(log: Log, changes: readonly CatalogueChange[]): void {
  const message = (price: PriceRow | undefined): string | null =>
    price === undefined ? null : `${rateText(price.prompt)}/${rateText(price.completion)}`;
  for (const { change, model, candidate, before, after } of changes) {
    const prices = { before: message(before?.price), after: message(after?.price) };
    log.info('catalogue_changed', { change, model, candidate, ...prices });
  }
}

function rateText(pico: bigint): string {
  return rateToDecimal(rateOfPico(pico));
}

function openProviders(config: Config): Providers {
  return new Map(config.providers.map((row) => [row.slug, openProvider(row)]));
}

async function closeAll(providers: Iterable<Provider>): Promise<void> {
  await Promise.all([...providers].map((provider) => provider.close()));
}

/** Secrets print alike, and none of these parts is built from one but the database's address, which is compared unseen. */
function isSame(before: unknown, after: unknown): boolean {
  return JSON.stringify(before, plain) === JSON.stringify(after, plain);
}

function plain(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
