import { responseLimits, shapeFault } from '../../wire/json.ts';
import {
  type Bytes,
  type DecodedEvent,
  type EncodedRequest,
  type ParameterChange,
  UnsupportedRequest,
  type UpstreamCodec,
} from '../dialect.ts';
import { errorEventOf } from './errors.ts';
import { PartReader, type ReaderOf } from './part-reader.ts';
import { SdkStreamDecoder } from './sdk-stream-decoder.ts';
import type { CallOptions, LanguageModel, SdkWarning, StreamPart, WholeResult } from './types.ts';

/** How a package is called. */
export interface SdkCall {
  readonly open: (fetch: typeof globalThis.fetch) => LanguageModel;
  readonly options: CallOptions;
  readonly stream: boolean;
  /** The parameter changes so far, those found in the written body included. */
  readonly changesIn: (body: string) => UpstreamCodec['changes'];
  /** Whether the written body has a parameter, by our name of it. */
  readonly isSent: (parameter: string, body: string) => boolean;
  readonly streamType: string;
  readonly baseUrl: string;
  readonly reader: Omit<ReaderOf, 'upstreamId'>;
}

/**
 * Starts a call of a package and intercepts its HTTP request. That request is sent by our own
 * client with our own limits, and its response is passed back to the package to be decoded. The
 * package may send one request. Throws `UnsupportedRequest` when it sends none.
 */
export async function createCodec(call: SdkCall): Promise<UpstreamCodec> {
  const { stream, options, reader } = call;
  const encoded = Promise.withResolvers<EncodedRequest>();
  const received = Promise.withResolvers<Response>();
  let times = 0;
  const model = call.open(async (input, init) => {
    times += 1;
    if (times > 1) throw new SecondRequestError('the package sends a second request');
    encoded.resolve(writtenOf(String(input), init, call.baseUrl));
    return received.promise;
  });
  const result: Promise<unknown> = Promise.resolve(
    stream ? model.doStream(options) : model.doGenerate(options),
  );
  result.catch((error: unknown) => encoded.reject(unsupportedRequestOf(error)));
  const request = await encoded.promise;
  const give = (body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>, type: string): void =>
    received.resolve(new Response(body, { headers: { 'content-type': type } }));
  const changes = [...call.changesIn(request.body)];
  const noteWarnings = (warnings: readonly SdkWarning[]): void => {
    for (const change of changesOfWarnings(warnings, (name) => call.isSent(name, request.body)))
      if (!changes.some(({ parameter }) => parameter === change.parameter)) changes.push(change);
  };
  return {
    request,
    // A package reports what it left out only with its response.
    changes,
    streamType: stream ? call.streamType : null,
    async readWhole(body: Buffer): Promise<DecodedEvent> {
      if (stream) return { kind: 'malformed', reason: 'a full response instead of a stream' };
      if (shapeFault(body.toString('utf8'), responseLimits) !== null)
        return { kind: 'malformed', reason: 'a response with too many parts' };
      give(new Uint8Array(body), 'application/json');
      try {
        const whole = (await result) as WholeResult;
        noteWarnings(whole.warnings);
        return new PartReader({ ...reader, upstreamId: null }).readWhole(whole);
      } catch (error) {
        return errorEventOf(error);
      }
    },
    readStream(bytes: Bytes, upstreamId: string | null): SdkStreamDecoder {
      const parts = new PartReader({ ...reader, upstreamId });
      return new SdkStreamDecoder(bytes, {
        open: async (body) => {
          give(body, call.streamType);
          return ((await result) as { readonly stream: ReadableStream<StreamPart> }).stream;
        },
        isSse: call.streamType === 'text/event-stream',
        // What a package wanted to fetch in addition is missing from its response, and is no error
        // of the upstream.
        read: (part) => {
          if (part.type === 'stream-start') noteWarnings(part.warnings);
          return part.type === 'error' && part.error instanceof SecondRequestError ? [] : parts.read(part);
        },
      });
    },
  };
}

/**
 * Why a package sent no request. Its message may quote the client's request, which must not reach
 * the log.
 */
function unsupportedRequestOf(error: unknown): UnsupportedRequest {
  if (error instanceof UnsupportedRequest) return error;
  const { name, functionality } = (error ?? {}) as Readonly<Record<string, unknown>>;
  return new UnsupportedRequest(`the package does not support it: ${String(functionality ?? name)}`);
}

class SecondRequestError extends Error {
  override readonly name = 'SecondRequestError';
}

/** Headers that identify the package, or that the connection writes itself. */
const notOurs = new Set(['user-agent', 'content-length', 'host']);

function writtenOf(url: string, init: RequestInit | undefined, baseUrl: string): EncodedRequest {
  if (!url.startsWith(`${baseUrl}/`) || typeof init?.body !== 'string')
    throw new UnsupportedRequest('the package sends a request to another host');
  const headers = [...new Headers(init.headers)].filter(
    ([name, value]) => !notOurs.has(name) && value !== '',
  );
  return { path: url.slice(baseUrl.length), headers: Object.fromEntries(headers), body: init.body };
}

/** Our names of what the packages warn about. */
const parameters: ReadonlyMap<string, string> = new Map([
  ['topP', 'top_p'],
  ['topK', 'top_k'],
  ['presencePenalty', 'presence_penalty'],
  ['frequencyPenalty', 'frequency_penalty'],
  ['stopSequences', 'stop'],
  ['maxOutputTokens', 'max_tokens'],
  ['responseFormat', 'response_format'],
  ['toolChoice', 'tool_choice'],
  ['tools', 'tools'],
  ['temperature', 'temperature'],
  ['seed', 'seed'],
  ['reasoning', 'reasoning'],
]);

/**
 * What the warnings of a package say of a request's parameters; a warning about anything else is
 * about its messages or tools.
 */
export function changesOfWarnings(
  warnings: readonly SdkWarning[],
  isSent: (parameter: string) => boolean,
): readonly ParameterChange[] {
  return warnings.flatMap((warning): readonly ParameterChange[] => {
    if (warning.type !== 'unsupported' && warning.type !== 'compatibility') return [];
    const { feature } = warning;
    const parameter = parameters.get(feature) ?? (feature.startsWith('tool') ? 'tools' : 'messages');
    const isKept = warning.type === 'compatibility' || isSent(parameter);
    return [{ parameter, change: isKept ? 'changed' : 'dropped' }];
  });
}
