import type { IncomingMessage, ServerResponse } from 'node:http';
import { refuse } from '../errors/catalogue.ts';
import { messages } from '../errors/messages.ts';
import { ClientDisconnected } from '../errors/request-aborted.ts';
import type { TraceContext } from '../wire/request-context.ts';
import { limitedAs } from './client-ip.ts';
import { Exchange } from './exchange.ts';
import type { OpenExchanges } from './open-exchanges.ts';
import { type BodyReading, BodyTooLarge, declaresTooLarge } from './read-body.ts';
import type { ServeParts } from './serve-parts.ts';
import { writeReply, writeThrown } from './write-response.ts';

const apiPrefix = '/api/v1';
/**
 * Never limited: it costs nothing, and an orchestrator that gets no response may kill the process.
 */
const livenessPath = '/healthz';
/**
 * Files of the dashboard with hashed names, from memory: a response costs no more than a refusal, and
 * one page loads some sixty of them.
 */
const assetPrefix = '/dashboard/assets/';

/** A request, and its response. */
interface Arrival {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Monotonic milliseconds. */
  readonly arrivedMs: number;
}

/** Handles one request: limits, the response, its log line. Rejects only on a defect. */
export async function handleRequest(
  parts: ServeParts,
  exchanges: OpenExchanges,
  { request, response, arrivedMs }: Arrival,
): Promise<void> {
  const exchange = exchangeOf(parts, request, arrivedMs);
  const isApi = exchange.path.startsWith(apiPrefix);
  if (!isApi && parts.styleOf !== undefined) exchange.style = parts.styleOf(exchange);
  exchanges.add(exchange);
  if (exchanges.isStopping) response.shouldKeepAlive = false;
  const onClose = (): void => {
    if (!response.writableFinished)
      exchange.leave(new ClientDisconnected('the client closed the connection'));
    exchange.memory?.release();
    exchanges.delete(exchange);
  };
  response.on('close', onClose);
  try {
    // While it waited for its turn, its connection may have ended.
    if (response.destroyed || request.socket.writableEnded) {
      onClose();
      exchange.signal.throwIfAborted();
    }
    const isCounted = exchange.path !== livenessPath && !exchange.path.startsWith(assetPrefix);
    const late = isCounted ? assertWithinRate(parts, exchange, isApi) : null;
    if (late !== null) await late;
    assertHost(request, response);
    if (declaresTooLarge(request, parts.maxBodyBytes)) throw new BodyTooLarge(parts.maxBodyBytes);
    const reply = await parts.respond(exchange);
    const stream = writeReply(parts, response, exchange, reply);
    if (stream !== undefined) await stream;
  } catch (thrown) {
    if (response.headersSent) response.destroy();
    else writeThrown(parts, response, exchange, thrown);
  } finally {
    if (exchange.signal.aborted) exchanges.delete(exchange);
    else exchanges.responded(exchange);
    noteRequest(parts, exchange, response);
  }
}

function exchangeOf(parts: ServeParts, request: IncomingMessage, startedMs: number): Exchange {
  const forwarded = request.headers['x-forwarded-for'];
  return new Exchange(request, {
    clientIp: parts.addresses.of(
      request.socket.remoteAddress,
      typeof forwarded === 'string' ? forwarded : null,
    ),
    startedMs,
    traceContext: traceContextOf(parts, request),
    nowMs: parts.clock.now(),
    parser: parts.parser,
    budget: parts.budget,
    pace: paceOf(parts),
  });
}

/** The trace that a trusted proxy began. Anybody else could choose ids, and have everything sampled. */
function traceContextOf(
  { addresses }: ServeParts,
  { headers, socket }: IncomingMessage,
): TraceContext | null {
  const { traceparent, tracestate } = headers;
  if (typeof traceparent !== 'string' || !addresses.trusts(socket.remoteAddress ?? '')) return null;
  return { traceparent, tracestate: typeof tracestate === 'string' ? tracestate : null };
}

function paceOf({ clock, clientLimits }: ServeParts): BodyReading['pace'] {
  return clientLimits === undefined ? null : { clock, minBytesPerSecond: clientLimits.minBodyBytesPerSecond };
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

/**
 * HTTP/1.1 requires one Host. Of two, a proxy may have used the other one: the connection ends
 * (spec:errors/12.3).
 */
function assertHost(request: IncomingMessage, response: ServerResponse): void {
  const { rawHeaders } = request;
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  if (hosts > 1) {
    response.shouldKeepAlive = false;
    throw refuse('invalid_request', messages.twoHostHeaders());
  }
  if (request.headers.host === undefined && request.httpVersion === '1.1')
    throw refuse('invalid_request', messages.noHostHeader());
}

function noteRequest(parts: ServeParts, exchange: Exchange, response: ServerResponse): void {
  const durationMs = parts.clock.monotonic() - exchange.startedMs;
  const { statusCode: status } = response;
  const { route = 'none', error_type: errorType = null } = exchange.logFields;
  parts.observer?.requestEnded(route, status, durationMs, errorType);
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
