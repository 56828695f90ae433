import { type Catalogue, publishCatalogue } from '../catalogue/catalogue.ts';
import type { CatalogueChange } from '../catalogue/difference.ts';
import type { PriceRow } from '../catalogue/prices-sql.ts';
import type { Config } from '../config/config.ts';
import { Secret } from '../config/secret.ts';
import { describeError, type Log } from '../log/log.ts';
import { rateOfPico, rateToDecimal } from '../money/price.ts';
import type { Database } from '../store/database.ts';
import type { Clock } from '../time/clock.ts';
import { openProvider, type Provider } from '../upstreams/providers.ts';

/** The parts of the live catalogue. */
export interface LiveCatalogParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * The catalogue that is served now, with its published prices and its providers. Replaced as a
 * whole.
 */
export class LiveCatalog {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #log: Log;
  #config: Config;
  #catalogue: Catalogue;
  #providers: Providers;
  readonly #retiring = new Set<Provider>();
  /** The last requested change, after all earlier ones. */
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

  /** The provider of a candidate; null for one that was removed after a request was planned. */
  provider(slug: string): Provider | null {
    return this.#providers.get(slug) ?? null;
  }

  /**
   * Applies another configuration from the next request on; requests in flight keep the old one.
   * Throws and changes nothing when a changed member needs a restart. `prepare` prepares the other
   * parts that follow the configuration; the function that it resolves with is called at the moment
   * of the change. Changes run one at a time: a worker may receive one while it applies one that it
   * missed.
   */
  apply(config: Config, prepare: () => Promise<() => void>): Promise<void> {
    const turn = this.#changed.then(() => this.#apply(config, prepare));
    this.#changed = turn.catch(() => {});
    return turn;
  }

  /** Closes all connections immediately, including those of replaced providers. */
  async close(): Promise<void> {
    await closeAll([...this.#providers.values(), ...this.#retiring]);
  }

  async #apply(config: Config, prepare: () => Promise<() => void>): Promise<void> {
    for (const part of [
      'listen',
      'admin',
      'database',
      'auth',
      'keys',
      'settlement',
      'edge',
      'routing',
      'tracing',
    ] as const) {
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

  /** Opens providers first: a configuration that cannot be served is not published. */
  async #publish(config: Config, opened: Providers): ReturnType<typeof publishCatalogue> {
    try {
      return await publishCatalogue(config, this.#database, this.#clock.now());
    } catch (error) {
      await closeAll(opened.values());
      throw error;
    }
  }

  /** Not awaited: a request on the old provider may take minutes. */
  #retire(provider: Provider): void {
    this.#retiring.add(provider);
    provider
      .retire()
      .catch((error: unknown) => this.#log.warn('provider_not_retired', { detail: describeError(error) }))
      .finally(() => this.#retiring.delete(provider));
  }
}

type Providers = ReadonlyMap<string, Provider>;

/** Logs every price change. Won per prompt token / completion token. */
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

/**
 * Secrets print alike. Of these parts only the database address contains one, which is compared
 * separately.
 */
function isSame(before: unknown, after: unknown): boolean {
  return JSON.stringify(before, plain) === JSON.stringify(after, plain);
}

/** `this` has the member as it is: a secret writes itself as `***`, whatever it is. */
function plain(this: Readonly<Record<string, unknown>>, name: string, value: unknown): unknown {
  const stated = this[name];
  if (stated instanceof Secret) return stated.reveal();
  return typeof value === 'bigint' ? String(value) : value;
}
