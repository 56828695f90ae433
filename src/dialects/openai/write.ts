import type { Ask } from '../../wire/chat.ts';
import type { Destination, WrittenAsk } from '../dialect.ts';
import { understood } from '../understood.ts';
import type { ProviderRules } from './providers.ts';
import { writeThoughts } from './thoughts.ts';

/** Writes our request in OpenAI's words: known parameters that the destination understands, usage always asked for. */
export function writeAsk(ask: Ask, to: Destination, rules: ProviderRules): WrittenAsk {
  return {
    path: ask.kind === 'chat' ? '/chat/completions' : '/completions',
    headers: {},
    body: JSON.stringify({
      model: to.model,
      ...inputOf(ask, rules),
      ...understood(ask.parameters, to),
      ...(ask.stream ? { stream: true, stream_options: { include_usage: true } } : {}),
    }),
  };
}

function inputOf({ kind, input }: Ask, rules: ProviderRules): object {
  if (kind === 'text') return { prompt: input };
  return { messages: writeThoughts(input as readonly Readonly<Record<string, unknown>>[], rules.thoughts) };
}
