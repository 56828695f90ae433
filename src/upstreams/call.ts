import type { Dispatcher } from 'undici';
import { type ByteSource, ByteStream } from './byte-stream.ts';
import type { Connection, ConnectionUser, Sending } from './connection.ts';
import { decoded } from './decode.ts';

/** One request to an upstream. */
export interface UpstreamRequest {
  readonly dispatcher: Dispatcher;
  /** A dispatcher that opens a new connection for a request that closes it. */
  readonly fresh: () => Dispatcher;
  /** POST by default. */
  readonly method?: 'GET' | 'POST';
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Whether the connection is closed after the response. */
  readonly closes: boolean;
}

/** The head of an upstream's response; its body follows, decoded. */
export interface UpstreamResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: ByteStream;
}

/** Cancels a call. One call listens to it, until its response is complete. */
export interface Cancellation {
  /** Why the call was cancelled; null if it was not. */
  readonly cancelReason: Error | null;
  /** Called once with the reason. */
  onCancel: ((reason: Error) => void) | null;
}

/** The upstream could not be reached, or closed the connection before a response head. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
}

/**
 * Sends a request and resolves with the response head. Rejects with `Unreachable`, or with the
 * reason of a cancellation; a cancellation closes the connection, also while the body is read. A
 * request that received no byte of a response on a reused connection is sent once more, on a new
 * connection (docs/decisions/stale-connections.md). Only this file knows the HTTP client.
 */
export function callUpstream(
  request: UpstreamRequest,
  cancellation: Cancellation,
  observer: CallObserver = ignored,
): Promise<UpstreamResponse> {
  if (cancellation.cancelReason !== null) return Promise.reject(cancellation.cancelReason);
  return new Promise((resolve, reject) => {
    new Call(request, cancellation, { resolve, reject, observer }).send(request.dispatcher);
  });
}

/** Called while a call has no response. */
export interface CallObserver {
  /** The request has a connection, and is sent on it; once more after a resend. */
  onSend(): void;
  onResend(): void;
}

const ignored: CallObserver = { onSend: () => {}, onResend: () => {} };

interface Head {
  readonly resolve: (response: UpstreamResponse) => void;
  readonly reject: (error: Error) => void;
  readonly observer: CallObserver;
}

/**
 * The HTTP client keeps a copy of a string for as long as the response lasts. A short body, in UTF-16
 * units, may stay.
 */
const maxKeptLength = 16_384;

/** A body that is released once it was read. Reading it again throws, so no empty request is sent. */
class ReleasedBody implements Iterable<string> {
  #text: string | null;

  constructor(text: string) {
    this.#text = text;
  }

  *[Symbol.iterator](): Generator<string> {
    const text = this.#text;
    this.#text = null;
    if (text === null) throw new Error('the body was sent already');
    yield text;
  }
}

function sentOf({ headers, body }: UpstreamRequest): Pick<Dispatcher.DispatchOptions, 'headers' | 'body'> {
  if (body.length <= maxKeptLength) return { headers, body };
  const length = String(Buffer.byteLength(body));
  // The types of the client lack iterables, which it documents.
  return { headers: { ...headers, 'content-length': length }, body: new ReleasedBody(body) as never };
}

/**
 * A call from its request to the end of its response. It lives as long as a stream, so it keeps no
 * reference to what it has passed on.
 */
class Call implements ConnectionUser, ByteSource {
  connection: Connection | null = null;
  /** Null once there is a head, or after a resend: it is not sent again. */
  #request: UpstreamRequest | null;
  #sending: Sending | null = null;
  readonly #cancellation: Cancellation;
  readonly #body = new ByteStream();
  /** Null until there is one. */
  #head: Head | null;
  #controller: Dispatcher.DispatchController | null = null;
  #over = false;

  constructor(request: UpstreamRequest, cancellation: Cancellation, head: Head) {
    this.#request = request;
    this.#cancellation = cancellation;
    this.#head = head;
    const giveUp = (reason: Error): void => this.#giveUp(reason);
    cancellation.onCancel = giveUp;
  }

  /** Closes the connection after the response if the request says so, or `isLast`. */
  send(dispatcher: Dispatcher, isLast = false): void {
    const request = this.#request;
    if (request === null) return;
    const { method = 'POST', origin, path, closes } = request;
    const options = { method, origin, path, ...sentOf(request), reset: closes || isLast };
    dispatcher.dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, this);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#sending = this.connection?.begin() ?? null;
    this.#head?.observer.onSend();
    if (this.#cancellation.cancelReason !== null) controller.abort(this.#cancellation.cancelReason);
    this.#body.attach(this);
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: UpstreamResponse['headers'],
  ): void {
    // The headers have been read, and pin the network block that they arrived in.
    controller.rawHeaders = null;
    // The final response follows an interim one.
    if (status >= 102 && status < 200) return;
    if (status < 200) {
      controller.abort(new Error(`the response has the status ${status}`));
      return;
    }
    // First: a body that cannot be decoded ends the call at once, after a response was received.
    const head = this.#head;
    this.#head = null;
    this.#request = null;
    const encoding = headers['content-encoding'];
    const body = encoding === undefined ? this.#body : decoded(this.#body, String(encoding));
    head?.resolve({ status, headers, body });
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#body.push(chunk);
  }

  onResponseEnd(): void {
    this.#sending?.ended();
    this.#finish();
    this.#body.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    const request = this.#request;
    if (request !== null && this.#cancellation.cancelReason === null && this.#sending?.isStale() === true) {
      this.#head?.observer.onResend();
      // A new connection is not stale: the request is sent twice at most.
      this.send(request.fresh(), true);
      return;
    }
    this.#finish();
    this.#head?.reject(this.#cancellation.cancelReason ?? new Unreachable(error.message, { cause: error }));
    this.#head = null;
    this.#body.fail(error);
  }

  pause(): void {
    this.#controller?.pause();
  }

  resume(): void {
    this.#controller?.resume();
  }

  cancel(reason: Error): void {
    if (!this.#over) this.#controller?.abort(reason);
    this.#finish();
  }

  #giveUp(reason: Error): void {
    this.#head?.reject(reason);
    this.#head = null;
    this.#body.cancel(reason);
    this.#controller?.abort(reason);
  }

  #finish(): void {
    this.#over = true;
    this.#cancellation.onCancel = null;
  }
}
