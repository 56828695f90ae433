import { type Catalogue, publishCatalogue } from './catalogue/catalogue.ts';
import type { Config } from './config/config.ts';
import type { Database } from './store/database.ts';
import type { Clock } from './time/clock.ts';
import { openProvider, type Provider } from './upstreams/providers.ts';

/** What is offered right now: the catalogue with its published prices, and the providers behind it. Replaced as a whole. */
export class Offer {
  readonly #database: Database;
  readonly #clock: Clock;
  #config: Config;
  #catalogue: Catalogue;
  #providers: ReadonlyMap<string, Provider>;

  private constructor(database: Database, clock: Clock, config: Config, catalogue: Catalogue) {
    this.#database = database;
    this.#clock = clock;
    this.#config = config;
    this.#catalogue = catalogue;
    this.#providers = openProviders(config);
  }

  /** Publishes the prices of a configuration and opens its providers. */
  static async open(database: Database, clock: Clock, config: Config): Promise<Offer> {
    return new Offer(database, clock, config, await publishCatalogue(config, database, clock.now()));
  }

  get catalogue(): Catalogue {
    return this.#catalogue;
  }

  get config(): Config {
    return this.#config;
  }

  /** The provider of a candidate. A request that was planned before a change may ask for one that is offered no more. */
  provider(slug: string): Provider {
    const provider = this.#providers.get(slug);
    if (provider === undefined) throw new Error(`no provider ${slug}: it was taken out of the configuration`);
    return provider;
  }

  /**
   * Offers what another configuration says, from the next request on; requests in flight end with what they began with. Throws
   * when something changed that only a restart can change; then everything stays as it is. `prepare` makes whatever else follows
   * the configuration ready for it; what it resolves with is called in the moment in which the offer changes.
   */
  async change(config: Config, prepare: () => Promise<() => void>): Promise<void> {
    for (const part of ['listen', 'admin', 'database', 'keys', 'settlement', 'edge'] as const) {
      if (!isSame(this.#config[part], config[part]))
        throw new Error(`\`${part}\` changed: that takes a restart; nothing was changed`);
    }
    const follow = await prepare();
    const catalogue = await publishCatalogue(config, this.#database, this.#clock.now());
    const before = this.#providers;
    this.#providers = openProviders(config);
    this.#catalogue = catalogue;
    this.#config = config;
    follow();
    await closeProviders(before, 'gracefully');
  }

  async close(): Promise<void> {
    await closeProviders(this.#providers, 'at once');
  }
}

function openProviders(config: Config): ReadonlyMap<string, Provider> {
  return new Map(config.providers.map((row) => [row.slug, openProvider(row)]));
}

async function closeProviders(
  providers: ReadonlyMap<string, Provider>,
  how: 'gracefully' | 'at once',
): Promise<void> {
  await Promise.all(
    [...providers.values()].map((provider) => (how === 'gracefully' ? provider.retire() : provider.close())),
  );
}

/** Secrets print alike, and none of these parts is built from one but the database's address, which is compared unseen. */
function isSame(before: unknown, after: unknown): boolean {
  return JSON.stringify(before, plain) === JSON.stringify(after, plain);
}

function plain(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
