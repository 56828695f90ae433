import type { Dialect } from '../dialect.ts';
import { withOwnNames } from '../own-names.ts';
import { SseStreamDecoder } from '../sse-decoder.ts';
import { ChunkReader } from './chunk-reader.ts';
import { parseErrorMessage, readWhole } from './read.ts';
import { encodeRequest } from './write.ts';

/** OpenAI's format, which llama.cpp, vLLM, SGLang, Ollama, LM Studio and most providers share. */
export const openaiDialect: Dialect = {
  name: 'openai',
  encode: (request, to) => {
    const { ownName, ...encoded } = encodeRequest(request, to);
    return withOwnNames(
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
  },
  parseErrorMessage,
};
