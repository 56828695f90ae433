import { createServer, IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import { refuse } from '../errors/catalogue.ts';
import { messages } from '../errors/messages.ts';
import { ClientDisconnected } from '../errors/request-aborted.ts';
import { describeError } from '../log/log.ts';
import type { MemoryBudget } from '../memory/budget.ts';
import type { RequestObserver } from '../metrics/observers.ts';
import type { JsonParser } from '../wire/json-parser.ts';
import type { Reply } from '../wire/reply.ts';
import type { BodyRate } from './body-rate.ts';
import { capConnections } from './cap-connections.ts';
import { type ClientAddresses, limitedAs } from './client-ip.ts';
import { DelayedClients, delayConnections } from './delay-connections.ts';
import { drainAcceptQueue } from './drain-accept-queue.ts';
import { Exchange } from './exchange.ts';
import { OpenExchanges } from './open-exchanges.ts';
import type { RateGate } from './rate-limit.ts';
import { BodyTooLarge, declaresTooLarge } from './read-body.ts';
import type { ResponseStyle } from './response-style.ts';
import { endUnreadable, maxHeadBytes, refuseConnection } from './unreadable-request.ts';
import { type WriteParts, writeReply, writeThrown } from './write-response.ts';

/** The parts of the HTTP server. */
export interface ServeParts extends WriteParts {
  readonly respond: (exchange: Exchange) => Promise<Reply | { readonly allow: readonly string[] }>;
  /** The style of the responses to a request outside the API; null or absent: that of the API. */
  readonly styleOf?: (exchange: Exchange) => ResponseStyle | null;
  readonly addresses: ClientAddresses;
  /** Null when a proxy in front limits the rate. */
  readonly rateLimit: RateGate | null;
  /**
   * A stopping server keeps idle connections open this long for the proxies that own them; 0 closes
   * them at once.
   */
  readonly idleWhileStoppingMs: number;
  /** The connections one client may have, and the minimum pace of a body; absent: no limit. */
  readonly clientLimits?: { readonly connections: number; readonly minBodyBytesPerSecond: number };
  /** Without one, the memory of requests is not counted. */
  readonly budget?: MemoryBudget;
  /** Without one, bodies are read as fast as they arrive. */
  readonly bodyRate?: BodyRate;
  /** Called when a body arrived in too many small pieces. */
  readonly onShredded?: () => void;
  /** Without one, bodies are parsed on the event loop. */
  readonly parser?: Pick<JsonParser, 'parse'>;
  readonly observer?: RequestObserver;
}

/** Connection timeouts, milliseconds. */
export interface ConnectionTimeouts {
  /** For the head of a request, from its first byte. */
  readonly headersMs: number;
  /** For the whole request. */
  readonly requestMs: number;
  /** Between requests. */
  readonly idleMs: number;
  /** How often the timeouts are checked. */
  readonly checkEveryMs: number;
}

const defaultTimeouts: ConnectionTimeouts = {
  headersMs: 30_000,
  requestMs: 300_000,
  idleMs: 75_000,
  checkEveryMs: 10_000,
};

/** A running HTTP server. */
export interface Served {
  readonly host: string;
  readonly port: number;
  /** Requests whose response is not complete. */
  inFlight(): number;
  /**
   * Stops listening. Resolves when every request in flight has ended, and every idle connection was
   * closed by its peer or has been idle for `idleWhileStoppingMs`. A request that a proxy sends
   * meanwhile on an open connection gets a response that closes the connection: closing it earlier
   * would lose that request.
   */
  drain(): Promise<void>;
  /** Aborts every request in flight: streams end with an in-band error. */
  abort(reason: Error): void;
  /** Closes every connection. */
  close(): Promise<void>;
}

const apiPrefix = '/api/v1';
/**
 * Never limited: it costs nothing, and an orchestrator that gets no response may kill the process.
 */
const livenessPath = '/healthz';

/**
 * Bytes of an unread body, above which its connection is not read; one-byte pieces use 400 times as
 * much memory.
 */
const unreadBodyBytes = 4_096;

/** A request of Node that buffers less of an unread body. */
class Request extends IncomingMessage {
  constructor(socket: Socket) {
    super({ readableHighWaterMark: unreadBodyBytes } as Socket);
    this.socket = socket;
  }
}

/**
 * Starts the server. Rejects with the operating system's error when the address cannot be bound.
 */
export async function serve(
  parts: ServeParts,
  address: { readonly host: string; readonly port: number },
  cancellation: ConnectionTimeouts = defaultTimeouts,
): Promise<Served> {
  const open = new OpenExchanges(parts.clock);
  /**
   * Connections that Node released after a CONNECT, or does not have yet: its server does not close
   * them.
   */
  const detached = new Set<Socket>();
  const delayed = new DelayedClients(parts.clock);
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    response.on('error', () => {});
    handle(parts, { open, delayed }, request, response).catch((thrown: unknown) => {
      parts.log.error('request_failed', { detail: describeError(thrown) });
      response.destroy();
    });
  };
  const server = createServer(
    {
      keepAliveTimeout: cancellation.idleMs,
      headersTimeout: cancellation.headersMs,
      requestTimeout: cancellation.requestMs,
      connectionsCheckingInterval: cancellation.checkEveryMs,
      maxHeaderSize: maxHeadBytes,
      noDelay: true,
      // Node's own response to a missing Host would not have our format.
      requireHostHeader: false,
      IncomingMessage: Request,
    },
    onRequest,
  );
  // Node drops headers above its limit silently, possibly the credential; the size limit of a head
  // bounds their number.
  server.maxHeadersCount = 0;
  const unreadable = (error: Error, socket: Socket): void => endUnreadable(parts, open, error, socket);
  server.on('clientError', unreadable);
  // An unknown expectation is ignored. So are upgrades, which have no listener: some clients offer
  // one in every request.
  server.on('checkExpectation', onRequest);
  // Without a listener, Node closes the connection of a CONNECT without a response.
  server.on('connect', (_request, socket: Socket) => {
    // Node no longer watches or counts this connection.
    socket.on('error', () => {});
    detached.add(socket);
    socket.once('close', () => detached.delete(socket));
    // What the client still sends is discarded, so that its end is noticed.
    socket.resume();
    unreadable(new Error('CONNECT'), socket);
  });
  const clientOf = (peer: string): string | null =>
    parts.rateLimit === null || parts.addresses.trusts(peer) ? null : peer;
  delayConnections(server, {
    clock: parts.clock,
    take: (peer) => (clientOf(peer) === null ? 0 : delayed.take(limitedAs(parts.addresses.of(peer, null)))),
    refuse: (socket) => refuseConnection(parts, socket),
    held: detached,
  });
  capConnections(server, {
    max: () => parts.clientLimits?.connections ?? Number.POSITIVE_INFINITY,
    clientOf,
    refuse: (socket) => refuseConnection(parts, socket),
  });
  await listen(server, address);
  // A failed accept, for lack of a file descriptor, does not stop the server.
  server.on('error', (error) => parts.log.error('accept_failed', { detail: error.message }));
  const { port } = server.address() as AddressInfo;
  parts.log.debug('listening', { host: address.host, port });
  return {
    host: address.host,
    port,
    inFlight: () => open.size,
    drain: async () => {
      await drainAcceptQueue(server, parts.clock);
      const noneLeft = new Promise<void>((resolve) => {
        // The HTTP server's own `close` would cut idle connections.
        NetServer.prototype.close.call(server, () => resolve());
      });
      // Node considers a connection idle once its response is written, even if the client has not
      // read it.
      if (parts.idleWhileStoppingMs === 0) void open.taken().then(() => server.closeIdleConnections());
      return open.drain(parts.idleWhileStoppingMs, noneLeft);
    },
    abort: (reason) => open.abort(reason),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
        for (const socket of detached) socket.destroy();
      }),
  };
}

async function handle(
  parts: ServeParts,
  { open, delayed }: { readonly open: OpenExchanges; readonly delayed: DelayedClients },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const startedMs = parts.clock.monotonic();
  const forwarded = request.headers['x-forwarded-for'];
  const clientIp = parts.addresses.of(
    request.socket.remoteAddress,
    typeof forwarded === 'string' ? forwarded : null,
  );
  const exchange = new Exchange(request, {
    clientIp,
    startedMs,
    nowMs: parts.clock.now(),
    ...(parts.parser === undefined ? {} : { parser: parts.parser }),
    onShredded: () => {
      delayed.add(limitedAs(clientIp));
      parts.onShredded?.();
    },
    ...(parts.budget === undefined ? {} : { budget: parts.budget }),
    ...(parts.bodyRate === undefined ? {} : { bodyRate: parts.bodyRate }),
    ...(parts.clientLimits === undefined
      ? {}
      : {
          pace: {
            clock: parts.clock,
            minBytesPerSecond: parts.clientLimits.minBodyBytesPerSecond,
          },
        }),
  });
  // Behind a proxy that limits rates, all clients may share one address.
  exchange.countFor(`address ${limitedAs(clientIp)}`, { limitsRate: parts.rateLimit !== null });
  const isApi = exchange.path.startsWith(apiPrefix);
  if (!isApi && parts.styleOf !== undefined) exchange.style = parts.styleOf(exchange);
  open.add(exchange);
  if (open.isStopping) response.shouldKeepAlive = false;
  response.on('close', () => {
    if (!response.writableFinished)
      exchange.leave(new ClientDisconnected('the client closed the connection'));
    exchange.memory?.release();
    open.delete(exchange);
  });
  try {
    const late = exchange.path === livenessPath ? null : assertWithinRate(parts, exchange, isApi);
    if (late !== null) await late;
    assertHost(request);
    if (declaresTooLarge(request, parts.maxBodyBytes)) throw new BodyTooLarge();
    const reply = await parts.respond(exchange);
    const stream = writeReply(parts, response, exchange, reply);
    if (stream !== undefined) await stream;
  } catch (thrown) {
    if (response.headersSent) response.destroy();
    else writeThrown(parts, response, exchange, thrown);
  } finally {
    if (exchange.signal.aborted) open.delete(exchange);
    else open.responded(exchange);
    noteRequest(parts, exchange, response);
  }
}

/**
 * Throws, or returns a rejecting promise, when the client exceeds its rate. Paths outside the API
 * have a count of their own: a load balancer's probes succeed although they share the address of a
 * busy client.
 */
function assertWithinRate(
  { rateLimit }: ServeParts,
  exchange: Exchange,
  isApi: boolean,
): Promise<void> | null {
  const client = limitedAs(exchange.clientIp);
  const taken = rateLimit?.take(isApi ? client : `pages ${client}`) ?? null;
  if (taken instanceof Promise) return taken.then(assertNoWait);
  assertNoWait(taken);
  return null;
}

function assertNoWait(waitSec: number | null): void {
  if (waitSec === null) return;
  throw refuse('rate_limit_exceeded', messages.tooManyRequests(), {
    retry_after_sec: waitSec,
  });
}

/** HTTP/1.1 requires a Host; it decides nothing here. */
function assertHost(request: IncomingMessage): void {
  if (request.headers.host === undefined && request.httpVersion === '1.1')
    throw refuse('invalid_request', messages.noHostHeader());
}

function noteRequest(parts: ServeParts, exchange: Exchange, response: ServerResponse): void {
  const durationMs = parts.clock.monotonic() - exchange.startedMs;
  const { statusCode: status } = response;
  parts.observer?.requestEnded(exchange.logFields.route ?? 'none', status, durationMs);
  parts.log.info('request', {
    request_id: exchange.requestId,
    method: exchange.method,
    path: exchange.path.slice(0, 200),
    status,
    ms: Math.round(durationMs * 10) / 10,
    client_ip: exchange.clientIp,
    ...exchange.logFields,
  });
}

function listen(server: Server, address: { readonly host: string; readonly port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(address.port, address.host, 1024, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
