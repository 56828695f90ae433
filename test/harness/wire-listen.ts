import { anthropicDialect } from '../../src/dialects/anthropic/index.ts';
import { bedrockDialect } from '../../src/dialects/bedrock/index.ts';
import type { Bytes, DecodedEvent, Dialect, UpstreamCodec } from '../../src/dialects/dialect.ts';
import { googleDialect } from '../../src/dialects/google/index.ts';
import { parseCompletionRequest } from '../../src/inference/parse-request.ts';
import type { ResponseChunk } from '../../src/wire/chat.ts';
import { nextOf } from '../../src/wire/receiver.ts';
import type { Wire, WireResponse } from './wire.ts';

const body = { model: 'a/b', stream: true, messages: [{ role: 'user', content: 'Say hello, please.' }] };
const access = { baseUrl: 'http://127.0.0.1:1', apiKey: 'k', headers: {} };
const aws = { region: 'us-east-1', accessKeyId: 'a', secretAccessKey: 's', sessionToken: '' };
const dialects: Readonly<Record<Wire['dialect'], Dialect>> = {
  anthropic: anthropicDialect(access),
  google: googleDialect(access),
  bedrock: bedrockDialect({ ...access, apiKey: '', ...aws }),
};
/** The options of a streamed request. */
export const streamPaths: Readonly<Record<Wire['dialect'], string>> = {
  anthropic: '/messages',
  google: '/models/m:streamGenerateContent?alt=sse',
  bedrock: '/model/m/converse-stream',
};

/** The result of a stream. */
export interface ReadEvents {
  readonly text: string;
  readonly reasoning: string;
  readonly details: string;
  readonly calls: string;
  readonly dropped: readonly string[];
  readonly finish: string | null;
  readonly claim: unknown;
  readonly done: boolean;
  readonly failed: string | null;
}

/** A streamed request to the wire's dialect, which is never sent. */
export async function begin(wire: Wire): Promise<UpstreamCodec> {
  const request = parseCompletionRequest('chat', Buffer.from(JSON.stringify(body)), null);
  const to = {
    model: wire.model,
    modelId: wire.model,
    variant: 'generic' as const,
    overrides: {},
    supportedParameters: null,
    maxCompletionTokens: null,
    price: {},
  };
  return dialects[wire.dialect].encode(request, to);
}

/**
 * Passes these bytes to the dialect, each piece separately; `broken` is why there are no more, null
 * for a regular end.
 */
export async function listen(
  wire: Wire,
  pieces: readonly Buffer[],
  broken: Error | null = null,
): Promise<ReadEvents> {
  const exchange = await begin(wire);
  const left = pieces.filter((piece) => piece.length > 0);
  const bytes: Bytes = {
    read(receiver) {
      const piece = left.shift();
      if (piece !== undefined) receiver.take(Buffer.from(piece));
      else if (broken !== null) receiver.fail(broken);
      else receiver.take(null);
    },
  };
  const decoder = exchange.readStream(bytes, null);
  const received: DecodedEvent[] = [];
  let failed: string | null = null;
  try {
    for (let next = await nextOf(decoder); next !== null; next = await nextOf(decoder))
      received.push(...next);
  } catch (error) {
    failed = String(error);
  }
  const error = received.find((one) => one.kind === 'error' || one.kind === 'malformed');
  const chunks = received.flatMap((one) => (one.kind === 'chunk' ? [one.chunk] : []));
  return {
    ...sumOf(chunks),
    done: received.some(({ kind }) => kind === 'done'),
    failed: failed ?? error?.reason ?? null,
  };
}

function sumOf(chunks: readonly ResponseChunk[]): Omit<ReadEvents, 'done' | 'failed'> {
  const deltas = chunks.flatMap((chunk) => chunk.choices.map(({ delta }) => delta));
  return {
    text: deltas.map(({ content }) => content ?? '').join(''),
    reasoning: deltas.map(({ reasoning }) => reasoning ?? '').join(''),
    details: JSON.stringify(deltas.flatMap(({ reasoning_details: details }) => details ?? [])),
    calls: JSON.stringify(deltas.flatMap(({ tool_calls: calls }) => calls ?? [])),
    dropped: chunks.flatMap(({ dropped }) => dropped ?? []),
    finish: chunks.findLast(({ choices }) => choices[0]?.finish_reason)?.choices[0]?.finish_reason ?? null,
    claim: chunks.findLast(({ usage }) => usage)?.usage ?? null,
  };
}

/** The bytes of a streamed response, without HTTP around them. */
export function streamOf(wire: Wire, response: WireResponse): Buffer {
  return unframed(
    wire.responds(response).bytes({ stream: true, model: wire.model }, streamPaths[wire.dialect]),
  );
}

/** The body of a chunked response. */
function unframed(response: Buffer): Buffer {
  const pieces: Buffer[] = [];
  for (let at = response.indexOf('\r\n\r\n') + 4; ; ) {
    const lineEnd = response.indexOf('\r\n', at);
    const size = Number.parseInt(response.toString('latin1', at, lineEnd), 16);
    if (size === 0) return Buffer.concat(pieces);
    pieces.push(response.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
}
