import type { Dispatcher } from 'undici';
import { ByteStream } from './byte-stream.ts';
import { decoded } from './decode.ts';

/** One request to an upstream. */
export interface UpstreamRequest {
  readonly dispatcher: Dispatcher;
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The head of an upstream's answer; its body follows, without the content encoding that it may have come with. */
export interface UpstreamResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: ByteStream;
}

/** The upstream could not be reached, or broke the connection before its answer's head. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
}

/**
 * Sends a request and resolves with the head of the answer. Rejects with `Unreachable`, or with the signal's reason; whoever
 * aborts the signal closes the connection, also while the body is being read. This file alone knows the HTTP client.
 */
export function callUpstream(request: UpstreamRequest, signal: AbortSignal): Promise<UpstreamResponse> {
  const head = Promise.withResolvers<UpstreamResponse>();
  if (signal.aborted) return Promise.reject(signal.reason);
  const body = new ByteStream();
  let controller: Dispatcher.DispatchController | null = null;
  let answered = false;
  let over = false;
  const abort = (): void => {
    const reason = signal.reason instanceof Error ? signal.reason : new Error('aborted');
    if (!answered) head.reject(reason);
    body.cancel(reason);
    controller?.abort(reason);
  };
  const finish = (): void => {
    over = true;
    signal.removeEventListener('abort', abort);
  };
  signal.addEventListener('abort', abort, { once: true });
  const { dispatcher, origin, path, headers } = request;
  dispatcher.dispatch(
    { origin, path, method: 'POST', headers, body: request.body, headersTimeout: 0, bodyTimeout: 0 },
    {
      onRequestStart: (started) => {
        controller = started;
        if (signal.aborted) started.abort(signal.reason);
        body.attach({
          pause: () => started.pause(),
          resume: () => started.resume(),
          cancel: (reason) => {
            if (!over) started.abort(reason);
            finish();
          },
        });
      },
      onResponseStart: (_controller, status, responseHeaders) => {
        if (status < 200) return;
        answered = true;
        const encoding = responseHeaders['content-encoding'];
        const plain = encoding === undefined ? body : decoded(body, String(encoding));
        head.resolve({ status, headers: responseHeaders, body: plain });
      },
      onResponseData: (_controller, chunk) => body.push(chunk),
      onResponseEnd: () => {
        finish();
        body.end();
      },
      onResponseError: (_controller, error) => {
        finish();
        if (!answered)
          head.reject(signal.aborted ? signal.reason : new Unreachable(error.message, { cause: error }));
        body.fail(error);
      },
    },
  );
  return head.promise;
}
