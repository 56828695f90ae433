import type { Dialect } from '../dialect.ts';
import { EventHearing } from '../event-hearing.ts';
import { readEvent, readReason, readWhole } from './read.ts';
import { writeAsk } from './write.ts';

/** OpenAI's words, which llama.cpp, vLLM, SGLang, Ollama, LM Studio and most providers speak too. */
export const openaiDialect: Dialect = {
  name: 'openai',
  begin: (ask, to) => ({
    request: writeAsk(ask, to),
    streamType: 'text/event-stream',
    readWhole: (body) => readWhole(ask.kind, body.toString('utf8')),
    readStream: (bytes) => new EventHearing(bytes, (data) => readEvent(ask.kind, data)),
  }),
  readReason,
};
