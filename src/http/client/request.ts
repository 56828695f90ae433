import {
  Agent as HttpAgent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp,
} from 'node:http';
import {
  Agent as HttpsAgent,
  type RequestOptions as HttpsOptions,
  request as requestHttps,
} from 'node:https';
import type { LookupFunction } from 'node:net';
import type { Clock, Timer } from '../../time/clock.ts';
import { ByteCollector } from '../../wire/byte-collector.ts';
import { HttpError, HttpStatusError, httpErrorOf } from './http-error.ts';
import { proxiesFor } from './proxy.ts';

/** One request, and the limits of its response. */
export interface RequestOptions {
  readonly clock: Clock;
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** From the request to the last byte of the response; null: no limit. */
  readonly timeoutMs: number | null;
  /** Until the connection is open, TLS included; by default only `timeoutMs` applies. */
  readonly connectTimeoutMs?: number;
  /** The largest accepted body. */
  readonly maxBytes: number;
  /** A unix socket to connect to, instead of the host of the URL. */
  readonly socketPath?: string;
  /** A machine of the company: never through the proxy of the environment. */
  readonly direct?: boolean;
  /** The certificates to trust, instead of the default ones. */
  readonly ca?: string;
  /** Finds the addresses of a host name, in place of the system; not for one behind a proxy. */
  readonly lookup?: LookupFunction;
  readonly signal?: AbortSignal;
}

/** A response head. The caller reads the body once, or closes the response. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The body. Throws an `HttpError`, or the signal's reason. */
  bytes(): Promise<Buffer>;
  /** The body as text. Throws an `HttpError`, or the signal's reason. */
  text(): Promise<string>;
  /** The body as JSON. Throws an `HttpError`, or the signal's reason. */
  json(): Promise<unknown>;
  /** Closes the connection; the body is not read. */
  close(): void;
}

/** Ends the wait for a proxy, also that of a request which has ended. */
const proxyTimeoutMs = 10_000;

/** How much of an unwanted body is read, so that its sender sees no lost connection. */
const maxDrainBytes = 65_536;

/**
 * Sends one request on a connection of its own, and resolves with the response head. A redirect is
 * a response like any other. It goes through the proxy of the process, if there is one
 * (`proxy.ts`). Throws an `HttpError`, or the signal's reason. For everything but calls of
 * upstreams, which share connections (`upstreams/call.ts`).
 */
export async function request(url: string | URL, options: RequestOptions): Promise<HttpResponse> {
  const response = await send(new URL(url), options);
  const bytes = (): Promise<Buffer> => bytesOf(response, options);
  const text = async (): Promise<string> => textOf(await bytes());
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    bytes,
    text,
    json: async () => jsonOf(await text()),
    close: () => response.destroy(),
  };
}

/**
 * The status of a response, as soon as it is known; the body is dropped. Throws as `request` does.
 */
export async function requestStatus(
  url: string | URL,
  options: Omit<RequestOptions, 'maxBytes'>,
): Promise<number> {
  const response = await send(new URL(url), { ...options, maxBytes: maxDrainBytes });
  let bytes = 0;
  response.on('data', (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > maxDrainBytes) response.destroy();
  });
  return response.statusCode ?? 0;
}

/**
 * The text of a response with status 200. Throws an `HttpStatusError` for any other; otherwise as
 * `request` does.
 */
export async function requestText(url: string | URL, options: RequestOptions): Promise<string> {
  const response = await request(url, options);
  if (response.status === 200) return response.text();
  response.close();
  throw new HttpStatusError(response.status, response.headers);
}

/** The JSON of a response with status 200. Throws as `requestText` does. */
export async function requestJson(url: string | URL, options: RequestOptions): Promise<unknown> {
  return jsonOf(await requestText(url, options));
}

function send(url: URL, options: RequestOptions): Promise<IncomingMessage> {
  const { method = 'GET', headers = {}, body, socketPath, direct = false, ca, lookup, signal } = options;
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason);
    const isSecure = url.protocol === 'https:';
    const agent = direct || socketPath !== undefined ? false : proxiedAgent(url);
    const own: HttpsOptions = {
      method,
      headers,
      agent,
      socketPath,
      ...(ca === undefined ? {} : { ca }),
      ...(lookup === undefined ? {} : { lookup }),
    };
    const outgoing = isSecure ? requestHttps(url, own) : requestHttp(url, own);
    let incoming: IncomingMessage | null = null;
    const stopLimits = limit(outgoing, options, (error) => {
      // A connection that is opened through a proxy ends later.
      reject(signal?.aborted === true ? signal.reason : error);
      incoming?.destroy(error);
      outgoing.destroy(error);
    });
    outgoing.on('response', (response) => {
      incoming = response;
      // The reader of the body receives the error too.
      response.on('error', () => {});
      resolve(response);
    });
    outgoing.on('error', (error) =>
      reject(signal?.aborted === true ? signal.reason : httpErrorOf('unreachable', error)),
    );
    outgoing.on('close', () => {
      stopLimits();
      reject(new HttpError('unreachable', 'the connection was closed without a response'));
    });
    outgoing.end(body);
  });
}

/** An agent of one request, so that no connection is shared; false: one without a proxy. */
function proxiedAgent(url: URL): HttpAgent | false {
  const proxies = proxiesFor(url);
  if (proxies === null) return false;
  const options = { proxyEnv: { ...proxies }, timeout: proxyTimeoutMs };
  return url.protocol === 'https:' ? new HttpsAgent(options) : new HttpAgent(options);
}

/**
 * Calls `stop` when a limit is exceeded or the signal aborts. Returns a function that ends the
 * limits.
 */
function limit(
  outgoing: ReturnType<typeof requestHttp>,
  { clock, timeoutMs, connectTimeoutMs, signal }: RequestOptions,
  stop: (error: Error) => void,
): () => void {
  const timers: Timer[] = [];
  if (timeoutMs !== null)
    timers.push(
      clock.after(timeoutMs, () =>
        stop(new HttpError('timeout', `no complete response within ${timeoutMs} ms`)),
      ),
    );
  if (connectTimeoutMs !== undefined) {
    const timer = clock.after(connectTimeoutMs, () =>
      stop(new HttpError('unreachable', `no connection within ${connectTimeoutMs} ms`)),
    );
    timers.push(timer);
    outgoing.on('socket', (socket) => {
      // One that a proxy opened is complete.
      if (!socket.connecting) timer.cancel();
      socket.once('encrypted' in socket ? 'secureConnect' : 'connect', () => timer.cancel());
    });
  }
  const onAbort = (): void => stop(new HttpError('cut', 'the request was aborted'));
  signal?.addEventListener('abort', onAbort, { once: true });
  return () => {
    for (const timer of timers) timer.cancel();
    signal?.removeEventListener('abort', onAbort);
  };
}

async function bytesOf(response: IncomingMessage, { maxBytes, signal }: RequestOptions): Promise<Buffer> {
  const encoding = response.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') {
    response.destroy();
    throw new HttpError('not_text', 'the response is compressed, which was not requested');
  }
  try {
    return await collect(response, maxBytes);
  } catch (thrown) {
    throw signal?.aborted === true ? signal.reason : httpErrorOf('cut', thrown);
  }
}

/** Joins a body of at most `maxBytes` bytes; closes the connection and throws beyond that. */
async function collect(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const body = new ByteCollector(maxBytes);
  for await (const piece of response as AsyncIterable<Buffer>) {
    body.push(piece);
    if (body.length > maxBytes)
      throw new HttpError('too_large', `the response has more than ${maxBytes} bytes`);
  }
  return body.take();
}

function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new HttpError('not_text', 'the response is not UTF-8');
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new HttpError('not_json', 'the response is not JSON');
  }
}
