import { getCACertificates } from 'node:tls';
import { buildConnector, type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici';
import type { ProviderConfig } from '../config/config.ts';
import { type Dialect, type EncodedRequest, noHeaders } from '../dialects/dialect.ts';
import type { UpstreamRequest } from './call.ts';
import { clientMessage } from './client-message.ts';
import { type Connector, clientFactory } from './connection.ts';
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
  readonly ca: string | null;
  readonly proxy: ProviderConfig['proxy'];
}

/** The connections of one provider or engine; redirects are never followed. */
export class Connections {
  readonly #pool: Dispatcher;
  /** For requests that a stale connection lost: each closes its connection. */
  #fresh: Dispatcher | null = null;
  readonly #options: ConnectionOptions;
  readonly #factory: ReturnType<typeof clientFactory>;
  readonly #origin: string;
  readonly #basePath: string;
  readonly #headers: Readonly<Record<string, string>>;
  /** Whether a response was followed by bytes of no response. */
  #hasSentExtra = false;

  constructor(baseUrl: string, options: ConnectionOptions) {
    const url = new URL(baseUrl);
    this.#options = options;
    this.#origin = url.origin;
    this.#basePath = url.pathname.replace(/\/$/, '');
    this.#headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'user-agent': 'naru',
      ...options.headers,
    };
    this.#factory = clientFactory(() => {
      this.#hasSentExtra = true;
    });
    this.#pool = this.#open(options.maxConnections);
  }

  request({ path, headers, body }: EncodedRequest): UpstreamRequest {
    return {
      dispatcher: this.#pool,
      fresh: () => {
        this.#fresh ??= this.#open(null);
        return this.#fresh;
      },
      origin: this.#origin,
      path: `${this.#basePath}${path}`,
      headers: headers === noHeaders ? this.#headers : { ...this.#headers, ...headers },
      body,
      // What else it sends would be read as the response of the next request.
      closes: this.#hasSentExtra,
    };
  }

  /** A pool, behind the proxy if there is one. */
  #open(connections: number | null): Dispatcher {
    const { connectTimeoutMs: timeout, ca, proxy } = this.#options;
    const limits = { pipelining: 1, headersTimeout: 0, bodyTimeout: 0, maxHeaderSize: 65_536 };
    const tls = { timeout, ...(ca === null ? {} : { ca }) };
    const connector = buildConnector(tls);
    const pool = (origin: string | URL, connect: Connector): Pool =>
      new Pool(origin, { ...limits, connections, connect, factory: this.#factory });
    if (proxy === null) return pool(this.#origin, connector);
    const url = proxy.url.reveal();
    return new EnvHttpProxyAgent({
      httpProxy: url,
      httpsProxy: url,
      noProxy: proxy.noProxy,
      connectTimeout: timeout,
      requestTls: tls,
      // A public proxy has none of the company's certificates.
      proxyTls: ca === null ? {} : { ca: [...getCACertificates('default'), ca] },
      clientFactory: (origin, options) => new Pool(origin, { ...options, headersTimeout: timeout }),
      factory: (origin, { connect }: { readonly connect?: Connector }) => pool(origin, connect ?? connector),
    });
  }

  async retire(): Promise<void> {
    await this.#pool.close();
    await this.#fresh?.close();
  }

  async close(): Promise<void> {
    await Promise.all([this.#pool.destroy(), this.#fresh?.destroy()]);
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
    ca: config.ca,
    proxy: config.proxy,
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
    const opened = new Connections(baseUrl, {
      ...{ connectTimeoutMs: this.#connectTimeoutMs(), maxConnections: null, headers: {} },
      // Engines are the company's own machines.
      ...{ ca: null, proxy: null },
    });
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
