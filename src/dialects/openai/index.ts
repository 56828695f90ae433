import type { DecodedEvent, Dialect } from '../dialect.ts';
import { SseStreamDecoder } from '../sse-decoder.ts';
import { parseErrorMessage, readEvent, readWhole } from './read.ts';
import { encodeRequest } from './write.ts';

const readChatEvent = (data: string): DecodedEvent => readEvent('chat', data);
const readTextEvent = (data: string): DecodedEvent => readEvent('text', data);

/** OpenAI's format, which llama.cpp, vLLM, SGLang, Ollama, LM Studio and most providers share. */
export const openaiDialect: Dialect = {
  name: 'openai',
  encode: (request, to) => ({
    ...encodeRequest(request, to),
    streamType: 'text/event-stream',
    readWhole: (body) => readWhole(request.kind, body.toString('utf8')),
    readStream: (bytes) =>
      new SseStreamDecoder(bytes, request.kind === 'chat' ? readChatEvent : readTextEvent),
  }),
  parseErrorMessage,
};
