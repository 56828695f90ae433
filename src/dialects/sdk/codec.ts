import {
  type Bytes,
  type DecodedEvent,
  type EncodedRequest,
  UnsupportedRequest,
  type UpstreamCodec,
} from '../dialect.ts';
import { errorEventOf } from './error-event.ts';
import { PartReader, type ReaderOf } from './part-reader.ts';
import { SdkStreamDecoder } from './sdk-stream-decoder.ts';
import type { CallOptions, LanguageModel, StreamPart, WholeResult } from './types.ts';

/** How a package is made to speak for us. */
export interface SdkCall {
  readonly open: (fetch: typeof globalThis.fetch) => LanguageModel;
  readonly options: CallOptions;
  readonly stream: boolean;
  /** What became of parameters, seen in what was written. */
  readonly changesIn: (body: string) => UpstreamCodec['changes'];
  readonly streamType: string;
  readonly baseUrl: string;
  readonly reader: Omit<ReaderOf, 'answerId'>;
}

/**
 * Begins a call of a package and stops it where it would ask the upstream: what it would send is the request, which is sent by
 * our own client with our own limits, and what that brings is given back to it to be understood. It gets to ask once. Throws
 * `Unsayable` when it does not get as far as asking.
 */
export async function createCodec(speech: SdkCall): Promise<UpstreamCodec> {
  const { stream, options, reader } = speech;
  const asked = Promise.withResolvers<EncodedRequest>();
  const answered = Promise.withResolvers<Response>();
  let times = 0;
  const model = speech.open(async (input, init) => {
    times += 1;
    if (times > 1) throw new SecondRequestError('the package wants to ask again');
    asked.resolve(writtenOf(String(input), init, speech.baseUrl));
    return answered.promise;
  });
  const result: Promise<unknown> = Promise.resolve(
    stream ? model.doStream(options) : model.doGenerate(options),
  );
  result.catch((error: unknown) => asked.reject(unsupportedRequestOf(error)));
  const request = await asked.promise;
  const give = (body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>, type: string): void =>
    answered.resolve(new Response(body, { headers: { 'content-type': type } }));
  return {
    request,
    changes: speech.changesIn(request.body),
    streamType: stream ? speech.streamType : null,
    async readWhole(body: Buffer): Promise<DecodedEvent> {
      if (stream) return { kind: 'malformed', reason: 'a whole answer in place of a stream' };
      give(new Uint8Array(body), 'application/json');
      try {
        const whole = (await result) as WholeResult;
        return new PartReader({ ...reader, answerId: null }).readWhole(whole);
      } catch (error) {
        return errorEventOf(error);
      }
    },
    readStream(bytes: Bytes, answerId: string | null): SdkStreamDecoder {
      const parts = new PartReader({ ...reader, answerId });
      return new SdkStreamDecoder(bytes, {
        open: async (body) => {
          give(body, speech.streamType);
          return ((await result) as { readonly stream: ReadableStream<StreamPart> }).stream;
        },
        // What a package would have asked for beside is missing from its answer, and is no error of the upstream's.
        read: (part) =>
          part.type === 'error' && part.error instanceof SecondRequestError ? [] : parts.read(part),
      });
    },
  };
}

/** Why a package would not ask. Its words may quote the request, which the log is not to have. */
function unsupportedRequestOf(error: unknown): UnsupportedRequest {
  if (error instanceof UnsupportedRequest) return error;
  const { name, functionality } = (error ?? {}) as Readonly<Record<string, unknown>>;
  return new UnsupportedRequest(`the package has no words for it: ${String(functionality ?? name)}`);
}

class SecondRequestError extends Error {
  override readonly name = 'SecondRequestError';
}

/** Headers that say something of the package, or that the connection writes itself. */
const notOurs = new Set(['user-agent', 'content-length', 'host']);

function writtenOf(url: string, init: RequestInit | undefined, baseUrl: string): EncodedRequest {
  if (!url.startsWith(`${baseUrl}/`) || typeof init?.body !== 'string')
    throw new UnsupportedRequest('the package asks somewhere else');
  const headers = [...new Headers(init.headers)].filter(
    ([name, value]) => !notOurs.has(name) && value !== '',
  );
  return { path: url.slice(baseUrl.length), headers: Object.fromEntries(headers), body: init.body };
}
