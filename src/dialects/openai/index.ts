import type { Dialect, Heard } from '../dialect.ts';
import { EventHearing } from '../sse-decoder.ts';
import { readEvent, readReason, readWhole } from './read.ts';
import { writeAsk } from './write.ts';

const readChatEvent = (data: string): Heard => readEvent('chat', data);
const readTextEvent = (data: string): Heard => readEvent('text', data);

/** OpenAI's words, which llama.cpp, vLLM, SGLang, Ollama, LM Studio and most providers speak too. */
export const openaiDialect: Dialect = {
  name: 'openai',
  begin: (ask, to) => ({
    ...writeAsk(ask, to),
    streamType: 'text/event-stream',
    readWhole: (body) => readWhole(ask.kind, body.toString('utf8')),
    readStream: (bytes) => new EventHearing(bytes, ask.kind === 'chat' ? readChatEvent : readTextEvent),
  }),
  readReason,
};
