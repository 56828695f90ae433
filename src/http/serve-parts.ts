import type { MemoryBudget } from '../memory/budget.ts';
import type { RequestObserver } from '../metrics/observers.ts';
import type { JsonParser } from '../wire/json-parser.ts';
import type { Reply } from '../wire/reply.ts';
import type { ClientAddresses } from './client-ip.ts';
import type { Exchange } from './exchange.ts';
import type { RateGate } from './rate-limit.ts';
import type { ResponseStyle } from './response-style.ts';
import type { WriteParts } from './write-response.ts';

/** The parts of the HTTP server. */
export interface ServeParts extends WriteParts {
  readonly maxBodyBytes: number;
  readonly respond: (exchange: Exchange) => Promise<Reply | { readonly allow: readonly string[] }>;
  /** The style of the responses to a request outside the API; null or absent: that of the API. */
  readonly styleOf?: (exchange: Exchange) => ResponseStyle | null;
  readonly addresses: ClientAddresses;
  /** Null when a proxy in front limits the rate. */
  readonly rateLimit: RateGate | null;
  /** Whether the connections of each peer are counted; absent: where the rate is limited here. */
  readonly countsConnections?: boolean;
  /**
   * A stopping server keeps idle connections open this long for the proxies that own them; 0 closes
   * them at once.
   */
  readonly idleWhileStoppingMs: number;
  /** The connections one client may have, and the minimum pace of a body; absent: no limit. */
  readonly clientLimits?: { readonly connections: number; readonly minBodyBytesPerSecond: number };
  /** Without one, the memory of requests is not counted. */
  readonly budget?: MemoryBudget;
  /** Without one, bodies are parsed on the event loop. */
  readonly parser?: Pick<JsonParser, 'parse'>;
  readonly observer?: RequestObserver;
}
