import type Client from 'undici/lib/dispatcher/client.js';
import Pool from 'undici/lib/dispatcher/pool.js';
import type { ProviderConfig } from '../config/config.ts';
import type { Dialect, EncodedRequest } from '../dialects/dialect.ts';
import type { UpstreamRequest } from './call.ts';
import { clientMessage } from './client-message.ts';
import { clientFactory } from './connection.ts';
import { openDialect, secretsOf } from './open-dialect.ts';

/** An upstream provider: a row of configuration, its dialect and its connections. */
export interface Provider {
  readonly slug: string;
  readonly name: string;
  readonly dialect: Dialect;
  /** How long it may take to the first byte of a response; null: the configuration does not say. */
  readonly firstByteTimeoutMs: number | null;
  /** A request below its base URL. */
  request(written: EncodedRequest): UpstreamRequest;
  /** Its words without our credentials, should it repeat them: for the log. */
  conceal(message: string): string;
  /** Its words as the client may read them (`clientMessage`). */
  clientMessage(message: string): string | null;
  /** Someone is about to ask it: until the function that comes back is called, once, `retire` closes nothing. */
  use(): () => void;
  /** Closes its connections when nobody uses it any more, and the requests on them have ended. */
  retire(): Promise<void>;
  /** Closes its connections at once. */
  close(): Promise<void>;
}

/** How an upstream is connected to. `maxConnections` null: as many as there are requests. */
export interface ConnectionOptions {
  readonly connectTimeoutMs: number;
  readonly maxConnections: number | null;
  readonly headers: Readonly<Record<string, string>>;
}

/** The connections of one provider or engine; redirects are never followed. */
export class Connections {
  readonly #pool: Pool;
  /** Connections beside the pool, each for one request that a stale connection lost. */
  readonly #fresh = new Set<Client>();
  readonly #open: () => Client;
  readonly #origin: string;
  readonly #basePath: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(baseUrl: string, options: ConnectionOptions) {
    const url = new URL(baseUrl);
    this.#origin = url.origin;
    this.#basePath = url.pathname.replace(/\/$/, '');
    this.#headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'user-agent': 'naru',
      ...options.headers,
    };
    const factory = clientFactory(options.connectTimeoutMs);
    const limits = { pipelining: 1, headersTimeout: 0, bodyTimeout: 0, maxHeaderSize: 65_536 };
    this.#pool = new Pool(url.origin, { ...limits, connections: options.maxConnections, factory });
    this.#open = () => factory(url.origin, limits);
  }

  request({ path, headers, body }: EncodedRequest): UpstreamRequest {
    return {
      dispatcher: this.#pool,
      fresh: () => this.#openFresh(),
      origin: this.#origin,
      path: `${this.#basePath}${path}`,
      headers: { ...this.#headers, ...headers },
      body,
    };
  }

  retire(): Promise<void> {
    return this.#pool.close();
  }

  async close(): Promise<void> {
    await Promise.all([this.#pool, ...this.#fresh].map((each) => each.destroy()));
  }

  /** A client for the one request that is dispatched to it in this turn; it closes behind that. */
  #openFresh(): Client {
    const client = this.#open();
    this.#fresh.add(client);
    queueMicrotask(() => void client.close().finally(() => this.#fresh.delete(client)));
    return client;
  }
}

/** Opens a provider. Nothing is asked of it yet. */
export function openProvider(config: ProviderConfig): Provider {
  const { dialect, headers } = openDialect(config);
  const secrets = secretsOf(config);
  const conceal = (message: string): string =>
    secrets.reduce((text, each) => text.replaceAll(each, '***'), message);
  const { host, hostname } = new URL(config.baseUrl);
  const connections = new Connections(config.baseUrl, {
    connectTimeoutMs: config.connectTimeoutMs,
    maxConnections: config.maxConnections,
    headers,
  });
  const unused = Promise.withResolvers<void>();
  let users = 0;
  let isRetired = false;
  const settle = (): void => {
    if (isRetired && users === 0) unused.resolve();
  };
  return {
    slug: config.slug,
    name: config.name,
    dialect,
    firstByteTimeoutMs: config.firstByteTimeoutMs,
    request: (written) => connections.request(written),
    conceal,
    clientMessage: (message) => clientMessage(conceal(message), [host, hostname]),
    use() {
      users += 1;
      return () => {
        users -= 1;
        settle();
      };
    },
    async retire() {
      isRetired = true;
      settle();
      await unused.promise;
      await connections.retire();
    },
    close: () => connections.close(),
  };
}

/** Every start of an engine has its own port, so most addresses are those of engines that are gone. */
const maxEngines = 64;

/** The connections to engines of ours, by base URL. */
export class Engines {
  readonly #connectTimeoutMs: () => number;
  readonly #open = new Map<string, Connections>();

  /** `connectTimeoutMs` is asked for each new engine: it may change. */
  constructor(connectTimeoutMs: () => number) {
    this.#connectTimeoutMs = connectTimeoutMs;
  }

  at(baseUrl: string): Connections {
    const known = this.#open.get(baseUrl);
    if (known !== undefined) return known;
    const options = { connectTimeoutMs: this.#connectTimeoutMs(), maxConnections: null, headers: {} };
    const opened = new Connections(baseUrl, options);
    this.#open.set(baseUrl, opened);
    this.#retireOldest();
    return opened;
  }

  /** How many have connections. */
  get size(): number {
    return this.#open.size;
  }

  /** An engine that is asked again after all is connected to anew; its requests in flight end as they are. */
  #retireOldest(): void {
    const [oldest] = this.#open;
    if (oldest === undefined || this.#open.size <= maxEngines) return;
    const [baseUrl, connections] = oldest;
    this.#open.delete(baseUrl);
    void connections.retire().catch(() => {});
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((connections) => connections.close()));
  }
}
