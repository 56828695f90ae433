import { createServer, IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import { finished } from 'node:stream';
import { type Refusal, refuse } from '../errors/catalogue.ts';
import { renderRefusal } from '../errors/error-body.ts';
import { type Message, messages } from '../errors/messages.ts';
import { ClientDisconnected } from '../errors/request-aborted.ts';
import { newRequestId } from '../ids/request-id.ts';
import { describeError, type Log } from '../log/log.ts';
import type { MemoryBudget } from '../memory/budget.ts';
import type { RequestObserver } from '../metrics/observers.ts';
import type { Clock } from '../time/clock.ts';
import type { JsonParser } from '../wire/json-parser.ts';
import type { JsonReply, Reply, StreamReply } from '../wire/reply.ts';
import type { BodyRate } from './body-rate.ts';
import { capConnections } from './cap-connections.ts';
import { type ClientAddresses, limitedAs } from './client-ip.ts';
import { DelayedClients, delayConnections } from './delay-connections.ts';
import { drainAcceptQueue } from './drain-accept-queue.ts';
import { Exchange } from './exchange.ts';
import { commonHeaders, flat, type HeaderList, preflightHeaders } from './headers.ts';
import { OpenExchanges } from './open-exchanges.ts';
import type { RateGate } from './rate-limit.ts';
import { BodyTooLarge, declaredBytes, declaresTooLarge, isShredded, pieceBytes } from './read-body.ts';
import { renderThrown } from './render-error.ts';

/** The parts of the HTTP server. */
export interface ServeParts {
  readonly answer: (exchange: Exchange) => Promise<Reply | { readonly allow: readonly string[] }>;
  readonly addresses: ClientAddresses;
  /** Null when a proxy in front limits the rate. */
  readonly rateLimit: RateGate | null;
  readonly maxBodyBytes: number;
  /**
   * A client that reads nothing of a stream for this long is treated as disconnected; the rest of a
   * rejected body is read for this long.
   */
  readonly clientStallMs: number;
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
  readonly clock: Clock;
  readonly log: Log;
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

/** A rejected connection has this long to end. */
const refusedConnectionMs = 1_000;

const uncached: HeaderList = ['Cache-Control', 'no-store'];

/** For the request line and the headers together. */
const maxHeadBytes = 65_536;

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
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
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
    answer,
  );
  // Node drops headers above its limit silently, possibly the credential; the size limit of a head
  // bounds their number.
  server.maxHeadersCount = 0;
  const unreadable = (error: Error, socket: Socket): void => endUnreadable(parts, open, error, socket);
  server.on('clientError', unreadable);
  // An unknown expectation is ignored. So are upgrades, which have no listener: some clients offer
  // one in every request.
  server.on('checkExpectation', answer);
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
  open.add(exchange);
  if (open.isStopping) response.shouldKeepAlive = false;
  response.on('close', () => {
    if (!response.writableFinished)
      exchange.leave(new ClientDisconnected('the client closed the connection'));
    exchange.memory?.release();
    open.delete(exchange);
  });
  try {
    const late = exchange.path === livenessPath ? null : assertWithinRate(parts, exchange);
    if (late !== null) await late;
    assertHost(request);
    if (declaresTooLarge(request, parts.maxBodyBytes)) throw new BodyTooLarge();
    const reply = await parts.answer(exchange);
    if ('allow' in reply) sendHead(response, 204, exchange, preflightHeaders(reply.allow)).end();
    else if ('stream' in reply) await sendStream(parts, response, exchange, reply);
    else sendJson(parts, response, exchange, reply);
    destroyWhenStalled(parts, response, exchange);
  } catch (thrown) {
    if (response.headersSent) response.destroy();
    else sendThrown(parts, response, exchange, thrown);
  } finally {
    if (exchange.signal.aborted) open.delete(exchange);
    else open.answered(exchange);
    noteRequest(parts, exchange, response);
  }
}

/**
 * Throws, or returns a rejecting promise, when the client exceeds its rate. Paths outside the API
 * have a count of their own: a load balancer's probes succeed although they share the address of a
 * busy client.
 */
function assertWithinRate({ rateLimit }: ServeParts, exchange: Exchange): Promise<void> | null {
  const client = limitedAs(exchange.clientIp);
  const taken = rateLimit?.take(exchange.path.startsWith(apiPrefix) ? client : `pages ${client}`) ?? null;
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

function sendJson(parts: ServeParts, response: ServerResponse, exchange: Exchange, reply: JsonReply): void {
  // A string goes to the kernel in one write with the head.
  const body = Buffer.isBuffer(reply.body) ? reply.body : JSON.stringify(reply.body);
  const length = Buffer.byteLength(body);
  sendHead(response, reply.status ?? 200, exchange, [
    ...flat(reply.headers),
    'Content-Type',
    reply.contentType ?? 'application/json; charset=utf-8',
    'Content-Length',
    String(length),
  ]);
  endBehindBody(parts, response, exchange, exchange.method === 'HEAD' ? '' : body);
  const { memory } = exchange;
  if (memory === null) return;
  memory.slowSinceMs = parts.clock.monotonic();
  memory.hold('body', 0);
  memory.hold('answer', 0);
  // Several responses may share one buffer.
  memory.hold('unsent', Buffer.isBuffer(reply.body) ? 0 : response.writableLength);
}

/**
 * A response that the kernel did not accept in full waits for its client. A client that reads
 * nothing for too long is treated as disconnected.
 */
function destroyWhenStalled(parts: ServeParts, response: ServerResponse, exchange: Exchange): void {
  const { socket } = response;
  if (response.writableLength === 0) return;
  // It waits for the responses to earlier requests on its connection.
  if (socket === null)
    return void response.once('socket', () => destroyWhenStalled(parts, response, exchange));
  const leave = (): void => {
    exchange.leave(new ClientDisconnected('the client stopped reading'));
    response.destroy();
  };
  // On the socket, because each piece it accepts restarts the timeout.
  socket.setTimeout(parts.clientStallMs, leave);
  // Runs before the server sets the idle timeout of the connection.
  response.prependOnceListener('finish', () => socket.setTimeout(0).off('timeout', leave));
}

/**
 * Sends the head with the first text, and all later text. The head is written by itself: Node then
 * keeps it as one string for the life of the stream, and not as the sixty pieces that it was built
 * from (1 kB a stream).
 */
async function sendStream(
  parts: ServeParts,
  response: ServerResponse,
  exchange: Exchange,
  reply: StreamReply,
): Promise<void> {
  sendHead(response, 200, exchange, [
    ...flat(reply.headers),
    'Content-Type',
    'text/event-stream; charset=utf-8',
    'X-Accel-Buffering',
    'no',
  ]).write('', 'latin1');
  // Framed here, a chunk is one piece. Node sends it as four, which is a fifth of the cost of a
  // chunk. HTTP/1.0 clients get no framing. A stream buffers little, and what was sent is paid for,
  // so it is not shed.
  if (exchange.memory !== null) exchange.memory.canBeShed = false;
  const isChunked = response.chunkedEncoding;
  response.chunkedEncoding = false;
  await reply.stream({
    write: (text) => {
      if (text === '' || response.destroyed) return undefined;
      const isTaken = response.write(isChunked ? chunkOf(text) : text);
      if (isTaken || exchange.signal.aborted) return undefined;
      return drained(parts, response, exchange);
    },
  });
  response.end(isChunked ? '0\r\n\r\n' : undefined);
}

/** A chunk of a body of unknown length (RFC 9112, 7.1); it must not be empty. */
function chunkOf(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

/**
 * Resolves when the client has read what was written, has disconnected, or was aborted, also for
 * reading nothing for too long.
 */
function drained(parts: ServeParts, response: ServerResponse, exchange: Exchange): Promise<void> {
  const { signal } = exchange;
  return new Promise((resolve) => {
    const stalled = parts.clock.after(parts.clientStallMs, () => {
      exchange.leave(new ClientDisconnected('the client stopped reading'));
      response.destroy();
    });
    const done = (): void => {
      stalled.cancel();
      response.off('drain', done).off('close', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
    signal.addEventListener('abort', done, { once: true });
  });
}

function sendThrown(parts: ServeParts, response: ServerResponse, exchange: Exchange, thrown: unknown): void {
  // A connection that received an error response closes by itself.
  if (thrown instanceof ClientDisconnected) return void (exchange.socket.writableEnded || response.destroy());
  if (thrown instanceof BodyTooLarge) return void sendTooLarge(parts, response, exchange);
  const error = renderThrown(thrown, parts.log, exchange.requestId);
  exchange.logFields.error_type = error.body.error.metadata.error_type;
  sendJson(parts, response, exchange, error);
}

function sendTooLarge(parts: ServeParts, response: ServerResponse, exchange: Exchange): void {
  const body = `Request body too large: at most ${parts.maxBodyBytes} bytes are accepted.\n`;
  response.shouldKeepAlive = false;
  const head = ['Content-Type', 'text/plain', 'Content-Length', String(body.length)];
  endBehindBody(parts, sendHead(response, 413, exchange, head), exchange, body);
}

/**
 * Ends a response. A connection that closes while its client still sends is reset, which discards
 * the response unless the client reads as it writes. So the response is sent at once, and the
 * connection ends with the body or at the timeout.
 */
function endBehindBody(
  parts: ServeParts,
  response: ServerResponse,
  exchange: Exchange,
  last: Buffer | string,
): void {
  const { req: request } = response;
  if (request.complete) return void response.end(last);
  discardBody(parts, request, exchange);
  if (response.shouldKeepAlive) return void response.end(last);
  response.flushHeaders();
  response.write(last);
  const cancellation = parts.clock.after(parts.clientStallMs, () => response.end());
  finished(request, { writable: false }, () => {
    cancellation.cancel();
    response.end();
  });
}

/**
 * Reads the rest of a body whose response is complete, at the body rate of its client. Ends the
 * connection when the rest arrives in too many pieces, or cannot be read soon; the client then has
 * a second to read the response.
 */
function discardBody(parts: ServeParts, request: IncomingMessage, exchange: Exchange): void {
  const turns = exchange.openTurns();
  let pieces = 0;
  let bytes = 0;
  const end = (): void => {
    const timer = parts.clock.after(refusedConnectionMs, () => request.socket.destroy());
    request.socket.once('close', () => timer.cancel());
  };
  if (exchange.isShredded) {
    end();
    return;
  }
  request.on('data', (piece: Buffer) => {
    pieces += 1;
    bytes += piece.length;
    if (isShredded(pieces, bytes)) {
      exchange.setShredded();
      request.socket.destroy();
      return;
    }
    if (turns === null || turns.spend(piece.length + pieceBytes)) return;
    request.pause();
    turns.wait(declaredBytes(request) ?? parts.maxBodyBytes).then(() => request.resume(), end);
  });
  if (turns !== null) finished(request, { writable: false }, () => turns.end());
  request.resume();
}

function sendHead(
  response: ServerResponse,
  status: number,
  exchange: Exchange,
  headers: HeaderList,
): ServerResponse {
  exchange.isAnswering = true;
  // No cache may keep a response that depends on a credential, or a transient error.
  const caching = exchange.isPrivate || status >= 400 ? uncached : [];
  return response.writeHead(status, [...commonHeaders(exchange.requestId), ...headers, ...caching]);
}

/**
 * The message for an unreadable request by Node's error code, where the default says too little.
 */
const unreadableBecause: ReadonlyMap<string | undefined, Message> = new Map([
  ['HPE_HEADER_OVERFLOW', messages.headTooLarge(maxHeadBytes)],
  ['ERR_HTTP_REQUEST_TIMEOUT', messages.requestTooSlow()],
]);

/**
 * Ends a connection that received an invalid or late request, and aborts its earlier requests.
 * Sends nothing in the middle of a response. Keeps reading from a client that continues to send,
 * until the timeout: an immediate close would discard the response.
 */
function endUnreadable(parts: ServeParts, open: OpenExchanges, error: Error, socket: Socket): void {
  const asked = open.on(socket);
  const isAnswering = asked.some((exchange) => exchange.isAnswering);
  if (isAnswering) socket.destroy();
  else answerUnreadable(error, socket);
  for (const exchange of asked)
    exchange.leave(new ClientDisconnected('the connection cannot be read any more'));
  if (socket.destroyed) return;
  const cancellation = parts.clock.after(parts.clientStallMs, () => socket.destroy());
  socket.once('close', () => cancellation.cancel());
}

/** Handles what Node's parser rejects: responds in our format, then closes the connection. */
function answerUnreadable(error: Error & { code?: string; rawPacket?: Buffer }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy();
  const refusal = spoiltAuthorization(error)
    ? refuse('invalid_api_key', messages.invalidApiKey())
    : refuse('invalid_request', unreadableBecause.get(error.code) ?? messages.notHttp());
  endWith(refusal, socket);
}

/** Rejects a connection above the client's limit before any request on it. */
function refuseConnection(parts: ServeParts, socket: Socket): void {
  endWith(refuse('rate_limit_exceeded', messages.tooManyConnections(), { retry_after_sec: 1 }), socket);
  const cancellation = parts.clock.after(refusedConnectionMs, () => socket.destroy());
  socket.once('close', () => cancellation.cancel());
}

const statusNames: ReadonlyMap<number, string> = new Map([
  [401, 'Unauthorized'],
  [429, 'Too Many Requests'],
]);

/** Ends a connection with a response that belongs to no request of Node. */
function endWith(refusal: Refusal, socket: Socket): void {
  const { status, body, headers } = renderRefusal(refusal);
  const text = JSON.stringify(body);
  const list = [
    ...commonHeaders(newRequestId()),
    ...flat(headers),
    'Content-Type',
    'application/json; charset=utf-8',
  ];
  const lines = [`HTTP/1.1 ${status} ${statusNames.get(status) ?? 'Bad Request'}`];
  for (let at = 0; at < list.length; at += 2) lines.push(`${list[at]}: ${list[at + 1]}`);
  lines.push(`Content-Length: ${Buffer.byteLength(text)}`, 'Connection: close', '', text);
  socket.end(lines.join('\r\n'));
}

/**
 * A control character inside `Authorization` is an invalid key for the client, whatever the parser
 * reports.
 */
function spoiltAuthorization(error: { code?: string; rawPacket?: Buffer }): boolean {
  if (error.code !== 'HPE_INVALID_HEADER_TOKEN' || error.rawPacket === undefined) return false;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
  return /\nauthorization:[^\r\n]*[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/i.test(error.rawPacket.toString('latin1'));
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
