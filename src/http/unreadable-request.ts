import type { Socket } from 'node:net';
import { type Refusal, refuse, renderRefusal } from '../errors/catalogue.ts';
import { type Message, messages } from '../errors/messages.ts';
import { ClientDisconnected } from '../errors/request-aborted.ts';
import type { Clock } from '../time/clock.ts';
import { newRequestId } from '../wire/ids/request-id.ts';
import { addHeaders, commonHeaders } from './headers.ts';
import type { OpenExchanges } from './open-exchanges.ts';

/** For the request line and the headers together. */
export const maxHeadBytes = 65_536;

/** A rejected connection has this long to end. */
const refusedConnectionMs = 1_000;

/** What ending a connection needs. */
interface EndParts {
  readonly clock: Clock;
  readonly clientStallMs: number;
}

/**
 * The message for an unreadable request by Node's error code, where the default message is too
 * short.
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
export function endUnreadable(parts: EndParts, open: OpenExchanges, error: Error, socket: Socket): void {
  const exchanges = open.on(socket);
  const isResponding = exchanges.some((exchange) => exchange.isResponding);
  if (isResponding) socket.destroy();
  else rejectUnreadable(error, socket);
  for (const exchange of exchanges)
    exchange.leave(new ClientDisconnected('the connection cannot be read any more'));
  if (socket.destroyed) return;
  const cancellation = parts.clock.after(parts.clientStallMs, () => socket.destroy());
  socket.once('close', () => cancellation.cancel());
}

/** Handles what Node's parser rejects: responds in our format, then closes the connection. */
function rejectUnreadable(error: Error & { code?: string; rawPacket?: Buffer }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy();
  const refusal = spoiltAuthorization(error)
    ? refuse('invalid_api_key', messages.invalidApiKey())
    : refuse('invalid_request', unreadableBecause.get(error.code) ?? messages.notHttp());
  endWith(refusal, socket);
}

/** Rejects a connection above the client's limit before any request on it. */
export function refuseConnection({ clock }: Pick<EndParts, 'clock'>, socket: Socket): void {
  endWith(refuse('rate_limit_exceeded', messages.tooManyConnections(), { retry_after_sec: 1 }), socket);
  const cancellation = clock.after(refusedConnectionMs, () => socket.destroy());
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
  const list = commonHeaders(newRequestId());
  addHeaders(list, headers);
  list.push('Content-Type', 'application/json; charset=utf-8');
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
