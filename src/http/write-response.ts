import type { ServerResponse } from 'node:http';
import { finished, type Writable } from 'node:stream';
import { ClientDisconnected } from '../errors/request-aborted.ts';
import type { Log } from '../log/log.ts';
import type { Clock } from '../time/clock.ts';
import type { JsonReply, Reply, StreamReply } from '../wire/reply.ts';
import type { Exchange } from './exchange.ts';
import { addHeaders, commonHeaders, type MutableHeaderList, preflightHeaders } from './headers.ts';
import { BodyTooLarge, discardBody } from './read-body.ts';
import { renderThrown } from './render-error.ts';

/** What writing responses needs. */
export interface WriteParts {
  /**
   * A client that reads nothing of a stream for this long is treated as disconnected; the rest of a
   * rejected body is read for this long.
   */
  readonly clientStallMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

const noCookies: readonly string[] = [];

/** Writes the response of a request. Returns a promise for a stream, which resolves at its end. */
export function writeReply(
  parts: WriteParts,
  response: ServerResponse,
  exchange: Exchange,
  reply: Reply | { readonly allow: readonly string[] },
): Promise<void> | undefined {
  if ('stream' in reply) return sendStream(parts, response, exchange, reply);
  if ('allow' in reply) {
    const headers = headersOf(exchange);
    headers.push(...preflightHeaders(reply.allow));
    sendHead(response, 204, exchange, headers).end();
  } else sendJson(parts, response, exchange, reply);
  destroyWhenStalled(parts, response, exchange);
  return undefined;
}

/** Writes the response of a request that failed before its head was sent. */
export function writeThrown(
  parts: WriteParts,
  response: ServerResponse,
  exchange: Exchange,
  thrown: unknown,
): void {
  // A connection that received an error response closes by itself.
  if (thrown instanceof ClientDisconnected) return void (exchange.socket.writableEnded || response.destroy());
  if (exchange.style !== null) {
    if (thrown instanceof BodyTooLarge) response.shouldKeepAlive = false;
    const styled = exchange.style.renderError(thrown, exchange.requestId);
    exchange.logFields.error_type = styled.type;
    sendJson(parts, response, exchange, styled);
    return;
  }
  if (thrown instanceof BodyTooLarge) return void sendTooLarge(parts, response, exchange, thrown);
  const error = renderThrown(thrown, parts.log, exchange.requestId);
  exchange.logFields.error_type = error.body.error.metadata.error_type;
  sendJson(parts, response, exchange, error);
}

function sendJson(parts: WriteParts, response: ServerResponse, exchange: Exchange, reply: JsonReply): void {
  // A string goes to the kernel in one write with the head.
  const body = Buffer.isBuffer(reply.body) ? reply.body : JSON.stringify(reply.body);
  const status = reply.status ?? 200;
  const contentType = reply.contentType ?? 'application/json; charset=utf-8';
  const headers = headersOf(exchange);
  if (reply.headers !== undefined) addHeaders(headers, reply.headers);
  headers.push('Content-Type', contentType);
  // The length of a 304 would be that of the cached body.
  if (status !== 304) headers.push('Content-Length', String(Buffer.byteLength(body)));
  for (const cookie of reply.cookies ?? noCookies) headers.push('Set-Cookie', cookie);
  sendHead(response, status, exchange, headers);
  endBehindBody(parts, response, exchange.method === 'HEAD' ? '' : body);
  const { memory } = exchange;
  if (memory === null) return;
  memory.setBytes('body', 0);
  memory.setBytes('answer', 0);
  // Several responses may share one buffer.
  memory.setBytes('unsent', Buffer.isBuffer(reply.body) ? 0 : response.writableLength);
}

/**
 * A response that the kernel did not accept in full waits for its client. A client that reads
 * nothing for too long is treated as disconnected.
 */
function destroyWhenStalled(parts: WriteParts, response: ServerResponse, exchange: Exchange): void {
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
  parts: WriteParts,
  response: ServerResponse,
  exchange: Exchange,
  reply: StreamReply,
): Promise<void> {
  const headers = headersOf(exchange);
  addHeaders(headers, reply.headers);
  headers.push('Content-Type', reply.contentType ?? 'text/event-stream; charset=utf-8');
  headers.push('X-Accel-Buffering', 'no');
  sendHead(response, 200, exchange, headers).write('', 'latin1');
  // Framed here, a chunk is one piece. Node sends it as four, which is a fifth of the cost of a
  // chunk. HTTP/1.0 clients get no framing. A stream buffers little, and what was sent is paid for,
  // so it is not refused.
  if (exchange.memory !== null) exchange.memory.canBeRefused = false;
  const isChunked = response.chunkedEncoding;
  response.chunkedEncoding = false;
  await reply.stream({
    write: (text) => {
      if (text === '' || response.destroyed) return undefined;
      const isTaken = writableOf(response).write(isChunked ? chunkOf(text) : text);
      if (isTaken || exchange.signal.aborted) return undefined;
      return drained(parts, response, exchange);
    },
  });
  response.end(isChunked ? '0\r\n\r\n' : undefined);
  destroyWhenStalled(parts, response, exchange);
}

/**
 * The socket, which sends a piece at once, while the response holds it back until the end of the turn.
 * The response itself while it waits for the responses to earlier requests on its connection.
 */
function writableOf(response: ServerResponse): Writable {
  return response.socket ?? response;
}

/** A chunk of a body of unknown length (RFC 9112, 7.1); it must not be empty. */
function chunkOf(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

/**
 * Resolves when the client has read what was written, has disconnected, or was aborted, also for
 * reading nothing for too long.
 */
function drained(parts: WriteParts, response: ServerResponse, exchange: Exchange): Promise<void> {
  const { signal } = exchange;
  const writable = writableOf(response);
  return new Promise((resolve) => {
    const stalled = parts.clock.after(parts.clientStallMs, () => {
      exchange.leave(new ClientDisconnected('the client stopped reading'));
      response.destroy();
    });
    const done = (): void => {
      stalled.cancel();
      writable.off('drain', done);
      response.off('close', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    writable.on('drain', done);
    response.on('close', done);
    signal.addEventListener('abort', done, { once: true });
  });
}

function sendTooLarge(
  parts: WriteParts,
  response: ServerResponse,
  exchange: Exchange,
  { maxBytes }: BodyTooLarge,
): void {
  const body = `Request body too large: at most ${maxBytes} bytes are accepted.\n`;
  response.shouldKeepAlive = false;
  const headers = headersOf(exchange);
  headers.push('Content-Type', 'text/plain', 'Content-Length', String(body.length));
  endBehindBody(parts, sendHead(response, 413, exchange, headers), body);
}

/**
 * Ends a response. A connection that closes while its client still sends is reset, which discards
 * the response unless the client reads as it writes. So the response is sent at once, and the
 * connection ends with the body or at the timeout.
 */
function endBehindBody(parts: WriteParts, response: ServerResponse, last: Buffer | string): void {
  const { req: request } = response;
  if (request.complete) return void response.end(last);
  discardBody(request);
  if (response.shouldKeepAlive) return void response.end(last);
  response.flushHeaders();
  response.write(last);
  const cancellation = parts.clock.after(parts.clientStallMs, () => response.end());
  finished(request, { writable: false }, () => {
    cancellation.cancel();
    response.end();
  });
}

/** The headers that every response begins with. */
function headersOf({ style, requestId }: Exchange): MutableHeaderList {
  return style === null ? commonHeaders(requestId) : [...style.headers(requestId)];
}

function sendHead(
  response: ServerResponse,
  status: number,
  exchange: Exchange,
  headers: MutableHeaderList,
): ServerResponse {
  exchange.isResponding = true;
  // No cache may keep a response that depends on a credential, or a transient error.
  if (exchange.isPrivate || status >= 400) headers.push('Cache-Control', 'no-store');
  return response.writeHead(status, headers);
}
