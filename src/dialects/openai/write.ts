import type { Ask } from '../../wire/chat.ts';
import type { Destination, WrittenAsk } from '../dialect.ts';
import { understood } from '../understood.ts';

/** Writes our request in OpenAI's words: known parameters that the destination understands, usage always asked for. */
export function writeAsk(ask: Ask, to: Destination): WrittenAsk {
  return {
    path: ask.kind === 'chat' ? '/chat/completions' : '/completions',
    headers: {},
    body: JSON.stringify({
      model: to.model,
      [ask.kind === 'chat' ? 'messages' : 'prompt']: ask.input,
      ...understood(ask.parameters, to),
      ...(ask.stream ? { stream: true, stream_options: { include_usage: true } } : {}),
    }),
  };
}
