import { type Client, Pool } from 'undici';
import type { ProviderConfig } from '../config/config.ts';
import { type Dialect, type EncodedRequest, noHeaders } from '../dialects/dialect.ts';
import type { UpstreamRequest } from './call.ts';
import { clientMessage } from './client-message.ts';
import { clientFactory } from './connection.ts';
import { openDialect, secretsOf } from './open-dialect.ts';

/** An upstream provider: its configuration row, its dialect and its connections. */
export interface Provider {
  readonly slug: string;
  readonly name: string;
  readonly dialect: Dialect;
  /** The timeout to the first byte of a response; null: not configured. */
  readonly firstByteTimeoutMs: number | null;
  /** Builds a request for a path under its base URL. */
  request(written: EncodedRequest): UpstreamRequest;
  /** Its message with our credentials removed, if it repeats them: for the log. */
  conceal(message: string): string;
  /** Its message as the client may read it (`clientMessage`). */
  clientMessage(message: string): string | null;
  /**
   * Marks the provider as in use: until the returned function is called, once, `retire` closes
   * nothing.
   */
  use(): () => void;
  /** Closes its connections once it is unused, and the requests on them have ended. */
  retire(): Promise<void>;
  /** Closes its connections at once. */
  close(): Promise<void>;
}

/** How to connect to an upstream. `maxConnections` null: as many as there are requests. */
export interface ConnectionOptions {
  readonly connectTimeoutMs: number;
  readonly maxConnections: number | null;
  readonly headers: Readonly<Record<string, string>>;
}

/** The connections of one provider or engine; redirects are never followed. */
export class Connections {
  readonly #pool: Pool;
  /** Connections outside the pool, each for one request that a stale connection lost. */
  readonly #fresh = new Set<Client>();
  readonly #open: () => Client;
  readonly #origin: string;
  readonly #basePath: string;
  readonly #headers: Readonly<Record<string, string>>;
  /** Whether a response was followed by bytes of no response. */
  #hasSentExtra = false;

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
    const factory = clientFactory(options.connectTimeoutMs, () => {
      this.#hasSentExtra = true;
    });
    const limits = { pipelining: 1, headersTimeout: 0, bodyTimeout: 0, maxHeaderSize: 65_536 };
    this.#pool = new Pool(url.origin, { ...limits, connections: options.maxConnections, factory });
    const open = (): Client => factory(url.origin, limits);
    this.#open = open;
  }

  request({ path, headers, body }: EncodedRequest): UpstreamRequest {
    return {
      dispatcher: this.#pool,
      fresh: () => this.#openFresh(),
      origin: this.#origin,
      path: `${this.#basePath}${path}`,
      headers: headers === noHeaders ? this.#headers : { ...this.#headers, ...headers },
      body,
      // What else it sends would be read as the response of the next request.
      closes: this.#hasSentExtra,
    };
  }

  retire(): Promise<void> {
    return this.#pool.close();
  }

  async close(): Promise<void> {
    await Promise.all([this.#pool, ...this.#fresh].map((each) => each.destroy()));
  }

  /** A client for one request, which must be dispatched in this turn; it closes afterwards. */
  #openFresh(): Client {
    const client = this.#open();
    this.#fresh.add(client);
    queueMicrotask(() => void client.close().finally(() => this.#fresh.delete(client)));
    return client;
  }
}

/** Opens a provider. Sends no request yet. */
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

/** Every start of an engine has its own port, so most addresses belong to stopped engines. */
const maxEngines = 64;

/** The connections to our engines, by base URL. */
export class Engines {
  readonly #connectTimeoutMs: () => number;
  readonly #open = new Map<string, Connections>();

  /** `connectTimeoutMs` is called for each new engine, because it may change. */
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

  /** The number of engines with connections. */
  get size(): number {
    return this.#open.size;
  }

  /** A retired engine that is used again gets new connections; its requests in flight complete. */
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
