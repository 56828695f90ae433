import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, Server as NetServer, Socket } from 'node:net';
import { describeError } from '../log/log.ts';
import { afterNextReads } from '../time/after-next-reads.ts';
import { capConnections } from './cap-connections.ts';
import { handleRequest } from './handle-request.ts';
import { OpenExchanges } from './open-exchanges.ts';
import type { ServeParts } from './serve-parts.ts';
import { endUnreadable, maxHeadBytes, refuseConnection } from './unreadable-request.ts';

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

/** A listening TCP socket that another process opened, and passed with its address. */
export interface InheritedSocket {
  readonly fd: number;
  readonly host: string;
  readonly port: number;
}

type ListenAddress = InheritedSocket | { readonly host: string; readonly port: number };

/** Bytes of an unread body, and of an unread response, above which its connection is paused. */
const unreadBytes = 16_384;

/**
 * Connections that the operating system accepts while the event loop is busy; it lowers the number
 * to its own limit (`net.core.somaxconn`, 4,096 on Linux). It drops packets of those above, whose
 * clients try again after 1, 2, 4 … s: with 1,024, some of 5,000 clients that connected within 2 s
 * waited for more than a minute.
 */
const maxWaitingConnections = 65_535;

/** What is open on a server. */
interface OpenParts {
  readonly exchanges: OpenExchanges;
  /** Connections that Node released after a CONNECT: its server does not close them. */
  readonly detached: Set<Socket>;
}

/**
 * Starts the server, on the inherited socket where the address is one. Rejects with the operating
 * system's error when the address cannot be bound.
 */
export async function serve(
  parts: ServeParts,
  address: ListenAddress,
  timeouts: ConnectionTimeouts = defaultTimeouts,
): Promise<Served> {
  const { clock, log } = parts;
  const open = { exchanges: new OpenExchanges(clock), detached: new Set<Socket>() };
  const server = createHttpServer(parts, open, timeouts);
  handleConnect(server, parts, open);
  limitConnections(server, parts);
  await listen(server, address);
  // A failed accept, for lack of a file descriptor, does not stop the server.
  server.on('error', (error) => log.error('accept_failed', { detail: error.message }));
  const { port } = server.address() as AddressInfo;
  log.debug('listening', { host: address.host, port });
  return {
    host: address.host,
    port,
    inFlight: () => open.exchanges.size,
    drain: () => drain(server, parts, open.exchanges),
    abort: (reason) => open.exchanges.abort(reason),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
        for (const socket of open.detached) socket.destroy();
      }),
  };
}

function createHttpServer(parts: ServeParts, open: OpenParts, timeouts: ConnectionTimeouts): Server {
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    response.on('error', () => {});
    const arrivedMs = parts.clock.monotonic();
    const begin = (): void => {
      handleRequest(parts, open.exchanges, { request, response, arrivedMs }).catch((thrown: unknown) => {
        parts.log.error('request_failed', { detail: describeError(thrown) });
        response.destroy();
      });
    };
    // Without a body the response is immediate: it also reaches a client that ends its side after
    // its request, when Node ends the other.
    if (request.headers['content-length'] === undefined) begin();
    else open.exchanges.enter(begin);
  };
  const server = createServer(
    {
      keepAliveTimeout: timeouts.idleMs,
      headersTimeout: timeouts.headersMs,
      requestTimeout: timeouts.requestMs,
      connectionsCheckingInterval: timeouts.checkEveryMs,
      maxHeaderSize: maxHeadBytes,
      noDelay: true,
      // Node's own response to a missing Host would not have our format.
      requireHostHeader: false,
      highWaterMark: unreadBytes,
    },
    onRequest,
  );
  // Node drops headers above its limit silently, possibly the credential; the size limit of a head
  // bounds their number.
  server.maxHeadersCount = 0;
  server.on('clientError', (error, socket: Socket) => endUnreadable(parts, open.exchanges, error, socket));
  // An unknown expectation is ignored. So are upgrades, which have no listener: some clients offer
  // one in every request.
  server.on('checkExpectation', onRequest);
  return server;
}

/** Without a listener, Node closes the connection of a CONNECT without a response. */
function handleConnect(server: Server, parts: ServeParts, { exchanges, detached }: OpenParts): void {
  server.on('connect', (_request, socket: Socket) => {
    // Node no longer watches or counts this connection.
    socket.on('error', () => {});
    detached.add(socket);
    socket.once('close', () => detached.delete(socket));
    // What the client still sends is discarded, so that its end is noticed.
    socket.resume();
    endUnreadable(parts, exchanges, new Error('CONNECT'), socket);
  });
}

function limitConnections(server: Server, parts: ServeParts): void {
  const isCounting = parts.countsConnections ?? parts.rateLimit !== null;
  const clientOf = (peer: string): string | null =>
    !isCounting || parts.addresses.trusts(peer) ? null : peer;
  const refuse = (socket: Socket): void => refuseConnection(parts, socket);
  const max = (): number => parts.clientLimits?.connections ?? Number.POSITIVE_INFINITY;
  capConnections(server, { max, clientOf, refuse });
}

async function drain(
  server: Server,
  { idleWhileStoppingMs }: ServeParts,
  exchanges: OpenExchanges,
): Promise<void> {
  const noneLeft = Promise.withResolvers<void>();
  server.once('close', noneLeft.resolve);
  // The HTTP server's own `close` would end idle connections, on which a request may be on its way.
  NetServer.prototype.close.call(server);
  exchanges.beginStop();
  // Node considers a connection idle until its request is read, and once its response is written,
  // even if the client has not read it.
  await afterNextReads();
  if (idleWhileStoppingMs === 0) void exchanges.taken().then(() => server.closeIdleConnections());
  return exchanges.drain(idleWhileStoppingMs, noneLeft.promise);
}

function listen(server: Server, address: ListenAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    const listens = (): void => {
      server.off('error', reject);
      resolve();
    };
    if ('fd' in address) server.listen(handleOf(address), maxWaitingConnections, listens);
    else server.listen(address.port, address.host, maxWaitingConnections, listens);
  });
}

/**
 * A worker would ask its parent for a descriptor; an object with a handle is its own. Each worker has
 * its own copy of the descriptor, which it may close.
 */
function handleOf({ fd }: InheritedSocket): Socket {
  return new Socket({ fd, readable: false, writable: false });
}
