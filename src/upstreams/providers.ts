import { Pool } from 'undici';
import type { ProviderConfig } from '../config/config.ts';
import type { Dialect } from '../dialects/dialect.ts';
import { openaiDialect } from '../dialects/openai/index.ts';
import type { UpstreamRequest } from './call.ts';

/** An upstream provider: a row of configuration, its dialect and its connections. */
export interface Provider {
  readonly slug: string;
  readonly name: string;
  readonly dialect: Dialect;
  /** How long it may take to its first byte. */
  readonly firstByteTimeoutMs: number;
  /** A request to `path` below its base URL. */
  request(path: string, body: string): UpstreamRequest;
  /** Its words without our credentials, should it repeat them: for the log. */
  conceal(words: string): string;
  /** Closes its connections when the requests on them have ended. */
  retire(): Promise<void>;
  /** Closes its connections at once. */
  close(): Promise<void>;
}

const dialects: Readonly<Record<string, Dialect>> = { openai: openaiDialect };

/** How an upstream is connected to. `maxConnections` null: as many as there are requests. */
export interface ConnectionOptions {
  readonly connectTimeoutMs: number;
  readonly maxConnections: number | null;
  readonly headers: Readonly<Record<string, string>>;
}

/** The connections of one provider or engine; redirects are never followed, nothing is sent twice. */
export class Connections {
  readonly #pool: Pool;
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
    this.#pool = new Pool(url.origin, {
      connections: options.maxConnections,
      pipelining: 1,
      connect: { timeout: options.connectTimeoutMs },
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: 65_536,
    });
  }

  request(path: string, body: string): UpstreamRequest {
    return {
      dispatcher: this.#pool,
      origin: this.#origin,
      path: `${this.#basePath}${path}`,
      headers: this.#headers,
      body,
    };
  }

  retire(): Promise<void> {
    return this.#pool.close();
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }
}

/** Opens a provider. Throws when its dialect is one that this version does not speak. */
export function openProvider(config: ProviderConfig): Provider {
  const dialect = dialects[config.dialect];
  if (dialect === undefined) {
    throw new Error(
      `provider ${config.slug}: the dialect "${config.dialect}" is not available in this version`,
    );
  }
  const secret = config.apiKey?.reveal();
  const secrets = [secret ?? '', ...Object.values(revealed(config.headers))].filter((each) => each !== '');
  const connections = new Connections(config.baseUrl, {
    connectTimeoutMs: config.connectTimeoutMs,
    maxConnections: config.maxConnections,
    headers: {
      ...revealed(config.headers),
      ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
    },
  });
  return {
    slug: config.slug,
    name: config.name,
    dialect,
    firstByteTimeoutMs: config.firstByteTimeoutMs,
    request: (path, body) => connections.request(path, body),
    conceal: (words) => secrets.reduce((text, each) => text.replaceAll(each, '***'), words),
    retire: () => connections.retire(),
    close: () => connections.close(),
  };
}

function revealed(headers: ProviderConfig['headers']): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.reveal()]));
}

/** The connections to engines of ours, by base URL: every start of an engine has its own port. */
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
    return opened;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((connections) => connections.close()));
  }
}
