import type { CompletionRequest, ResponseChunk } from '../../wire/chat.ts';
import type { Destination, Dialect } from '../dialect.ts';
import { mapChunks, withOwnNames } from '../map-chunks.ts';
import { SseStreamDecoder } from '../sse-decoder.ts';
import { ChunkReader } from './chunk-reader.ts';
import { rulesOf } from './providers.ts';
import { parseErrorMessage, readWhole } from './read.ts';
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
    return mapChunks(codec, claimsTooLittle(request, to) ? withoutClaim : null);
  },
  parseErrorMessage,
};

/** Whether the upstream reports the tokens of the first choice alone (spec:money/4.12). */
function claimsTooLittle({ choices }: CompletionRequest, { variant }: Destination): boolean {
  return choices > 1 && rulesOf(variant).claimsFirstChoice;
}

/** Naru counts the text of all choices itself then. */
function withoutClaim(chunk: ResponseChunk): ResponseChunk {
  return chunk.usage === null ? chunk : { ...chunk, usage: null };
}
