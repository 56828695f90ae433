import type { Dialect } from '../dialect.ts';
import { readEvent, readReason, readWhole } from './read.ts';
import { writeAsk } from './write.ts';

/** OpenAI's words, which llama.cpp, vLLM, SGLang, Ollama, LM Studio and most providers speak too. */
export const openaiDialect: Dialect = { name: 'openai', write: writeAsk, readEvent, readWhole, readReason };
