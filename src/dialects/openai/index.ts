import type { CompletionRequest, ResponseChunk } from '../../wire/chat.ts';
import type { Receiver } from '../../wire/receiver.ts';
import { SseDecoder } from '../../wire/sse.ts';
import type { Bytes, DecodedEvent, Destination, Dialect, StreamDecoder } from '../dialect.ts';
import { mapChunks, withOwnNames } from '../map-chunks.ts';
import { ChunkReader } from './chunk-reader.ts';
import { cutAtStop } from './cut-at-stop.ts';
import { rulesOf } from './providers.ts';
import { readWhole } from './read.ts';
import { encodeRequest } from './write.ts';

/** OpenAI's format, which llama.cpp, vLLM, SGLang, Ollama, LM Studio and most providers share. */
export const openaiDialect: Dialect = {
  name: 'openai',
  encode: (request, to) => {
    const { ownName, ...encoded } = encodeRequest(request, to);
    const codec = withOwnNames(
      {
        ...encoded,
        streamType: 'text/event-stream',
        readWhole: (body) => readWhole(request.kind, body.toString('utf8')),
        readStream: (bytes) => {
          const reader = new ChunkReader(request.kind);
          return new SseStreamDecoder(bytes, (data) => reader.read(data));
        },
      },
      ownName,
    );
    const stops = rulesOf(to.variant).returnsStop ? stopsOf(request) : [];
    return mapChunks(
      mapChunks(codec, claimsTooLittle(request, to) ? withoutClaim : null),
      stops.length === 0 ? null : cutAtStop(stops),
    );
  },
};

/** Whether the upstream reports the tokens of the first choice alone (spec:money/4.12). */
function claimsTooLittle({ choices }: CompletionRequest, { variant }: Destination): boolean {
  return choices > 1 && rulesOf(variant).claimsFirstChoice;
}

function stopsOf({ parameters: { stop } }: CompletionRequest): readonly string[] {
  return [stop].flat().filter((text): text is string => typeof text === 'string' && text !== '');
}

/** Naru counts the text of all choices itself then. */
function withoutClaim(chunk: ResponseChunk): ResponseChunk {
  return chunk.usage === null ? chunk : { ...chunk, usage: null };
}

/** Decodes a stream of independent server-sent events. */
class SseStreamDecoder implements StreamDecoder, Receiver<Buffer> {
  readonly #bytes: Bytes;
  readonly #eventOf: (data: string) => DecodedEvent;
  readonly #decoder = new SseDecoder();
  #receiver: Receiver<readonly DecodedEvent[]> | null = null;
  #ended = false;

  constructor(bytes: Bytes, eventOf: (data: string) => DecodedEvent) {
    this.#bytes = bytes;
    this.#eventOf = eventOf;
  }

  get heldBytes(): number {
    return this.#decoder.heldBytes;
  }

  read(receiver: Receiver<readonly DecodedEvent[]>): void {
    if (this.#ended) return void receiver.take(null);
    this.#receiver = receiver;
    this.#bytes.read(this);
  }

  take(bytes: Buffer | null): void {
    this.#receiver?.take(this.#decode(bytes));
  }

  fail(error: unknown): void {
    this.#receiver?.fail(error);
  }

  #decode(bytes: Buffer | null): readonly DecodedEvent[] {
    if (bytes === null) {
      this.#ended = true;
      return this.#decoder.end().map(this.#eventOf);
    }
    const events = this.#decoder.push(bytes).map(this.#eventOf);
    // Last: the events before it are complete.
    if (this.#decoder.isTooLong) events.push({ kind: 'malformed', reason: 'an event that is too long' });
    return events;
  }
}
