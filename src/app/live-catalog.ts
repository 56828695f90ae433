import type { Catalogue } from '../catalogue/catalogue.ts';
import { PricedCatalogue, type ServedEdition } from '../catalogue/edition.ts';
import type { Config } from '../config/config.ts';
import { hashOf } from '../config/hash.ts';
import { Secret } from '../config/secret.ts';
import { describeError, type Log } from '../log/log.ts';
import type { Database } from '../store/database.ts';
import { openProvider, type Provider } from '../upstreams/providers.ts';

/**
 * The catalogue that is served now, at its published prices, and its providers. Replaced as a
 * whole.
 */
export class LiveCatalog {
  readonly #log: Log;
  readonly #priced: PricedCatalogue;
  #providers: Providers;
  readonly #retiring = new Set<Provider>();
  /** The last requested change, after all earlier ones. */
  #changed: Promise<void> = Promise.resolve();

  private constructor(log: Log, priced: PricedCatalogue, providers: Providers) {
    this.#log = log;
    this.#priced = priced;
    this.#providers = providers;
  }

  /** Opens a configuration at the published prices, and its providers. */
  static async open(
    { database, log }: { readonly database: Database; readonly log: Log },
    config: Config,
  ): Promise<LiveCatalog> {
    return new LiveCatalog(log, await PricedCatalogue.open(database, config), openProviders(config));
  }

  get catalogue(): Catalogue {
    return this.#priced.catalogue;
  }

  get configurationHash(): string {
    return hashOf(this.config);
  }

  get config(): Config {
    return this.#priced.config;
  }

  /** The published edition that is served, and how far the configuration differs from it. */
  get served(): ServedEdition {
    return this.#priced.served;
  }

  /** Bills a newer published edition from now on; a reload follows. */
  takePrices(): Promise<void> {
    return this.#priced.takePrices();
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
    assertNoRestart(this.config, config);
    // First: a configuration that cannot be served is not published.
    const providers = openProviders(config);
    const before = this.#providers;
    try {
      const follow = await prepare();
      await this.#priced.apply(config, () => {
        this.#providers = providers;
        follow();
      });
    } catch (error) {
      await closeAll(providers.values());
      throw error;
    }
    for (const provider of before.values()) this.#retire(provider);
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

const restartParts = [
  'listen',
  'admin',
  'database',
  'auth',
  'keys',
  'settlement',
  'edge',
  'payments',
  'routing',
  'tracing',
] as const;

/** Throws when a configuration changes a member that needs a restart. */
export function assertNoRestart(before: Config, after: Config): void {
  for (const part of restartParts)
    if (!isSame(before[part], after[part]))
      throw new Error(`\`${part}\` changed: that takes a restart; nothing was changed`);
}

type Providers = ReadonlyMap<string, Provider>;

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
