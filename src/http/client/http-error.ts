import type { IncomingHttpHeaders } from 'node:http';

/**
 * Why a request has no usable response. `unreachable`: there was no response head; `cut`: the
 * connection was lost before the end of the body; `timeout`; `too_large`; `status`: it is not the
 * expected one; `not_text`: the body is compressed or not UTF-8; `not_json`.
 */
export type HttpFault = 'unreachable' | 'cut' | 'timeout' | 'too_large' | 'status' | 'not_text' | 'not_json';

/** A request failed. The message has no part of the request or of the response body. */
export class HttpError extends Error {
  override readonly name: string = 'HttpError';
  readonly kind: HttpFault;
  /** The system's error code, such as `ECONNREFUSED`; null when there is none. */
  readonly code: string | null;

  constructor(kind: HttpFault, message: string, code: string | null = null) {
    super(message);
    this.kind = kind;
    this.code = code;
  }
}

/** The status of a response is not the expected one. */
export class HttpStatusError extends HttpError {
  override readonly name = 'HttpStatusError';
  readonly status: number;
  readonly headers: IncomingHttpHeaders;

  constructor(status: number, headers: IncomingHttpHeaders) {
    super('status', `the response status is ${status}`);
    this.status = status;
    this.headers = headers;
  }
}

/** An error of the HTTP client of Node as an `HttpError`. */
export function httpErrorOf(kind: HttpFault, thrown: unknown): HttpError {
  if (thrown instanceof HttpError) return thrown;
  const { code, errors, message } = thrown as {
    readonly code?: unknown;
    /** One for each address of the host; the message is then empty. */
    readonly errors?: readonly Error[];
    readonly message?: string;
  };
  const text = message || errors?.map((each) => each.message).join(', ') || String(thrown);
  return new HttpError(kind, text, typeof code === 'string' ? code : null);
}
