import { arrayOf, objectOf, stringOf } from './fields.ts';
import { Refusal } from './refusal.ts';
import { callText, type Tool } from './tools.ts';

/** One message of a conversation in the form that the model receives. */
export interface Turn {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly text: string;
}

const roles: Readonly<Record<string, Turn['role']>> = {
  system: 'system',
  developer: 'system',
  user: 'user',
  assistant: 'assistant',
  tool: 'tool',
  function: 'tool',
};

/** Parses `messages`; throws a 400 when they are missing, empty or not text. */
export function turnsOf(messages: unknown): readonly Turn[] {
  const entries = arrayOf(messages, 'messages');
  if (entries.length === 0) throw new Refusal(400, 'messages must not be empty', 'messages');
  return entries.map((entry, index) => {
    const message = objectOf(entry, `messages[${index}]`);
    const role = roles[stringOf(message['role'], `messages[${index}].role`)];
    if (role === undefined)
      throw new Refusal(400, `messages[${index}].role is unknown`, `messages[${index}].role`);
    const calls = arrayOf(message['tool_calls'] ?? [], `messages[${index}].tool_calls`).map(earlierCall);
    return { role, text: [textOf(message['content'], `messages[${index}].content`), ...calls].join('') };
  });
}

/**
 * The conversation as a prompt; the names of the tools precede the last question. The model was
 * trained (`tools/demo-model/training-data.ts`) on lowercase input with a leading space, so that a
 * word is the same token everywhere.
 */
export function promptOf(turns: readonly Turn[], tools: readonly Tool[]): string {
  const lastQuestion = turns.findLastIndex(({ role }) => role === 'user');
  const names = tools.map(({ name }) => name).join(' ');
  const parts = turns.map(({ role, text }, index) => {
    const before = index === lastQuestion && names !== '' ? `<|tools|> ${names}` : '';
    return role === 'assistant' ? `<|assistant|>${text}</s>` : `${before}<|${role}|> ${text.toLowerCase()}`;
  });
  return `<s>${parts.join('')}<|assistant|>`;
}

/** The text of a message's content: a string, null, or a list of parts that are all text. */
function textOf(content: unknown, parameter: string): string {
  if (content === undefined || content === null) return '';
  if (typeof content === 'string') return harmless(content);
  const texts = arrayOf(content, parameter).map((entry) => {
    const part = objectOf(entry, parameter);
    if (part['type'] !== 'text') throw new Refusal(400, 'this model accepts text only', parameter);
    return harmless(stringOf(part['text'], parameter));
  });
  return texts.join('\n');
}

/** Text without the model's special tokens: client text cannot start a turn. */
function harmless(text: string): string {
  return text.replaceAll('<|', '< |').replaceAll('</s>', '< /s>').replaceAll('<s>', '< s>');
}

function earlierCall(entry: unknown): string {
  const called = objectOf(objectOf(entry, 'messages.tool_calls')['function'], 'messages.tool_calls.function');
  const name = stringOf(called['name'], 'messages.tool_calls.function.name');
  const argument = firstStringIn(
    stringOf(called['arguments'] ?? '{}', 'messages.tool_calls.function.arguments'),
  );
  return callText(harmless(name), argument === null ? null : harmless(argument));
}

function firstStringIn(json: string): string | null {
  try {
    const values = Object.values(JSON.parse(json) as object);
    return values.find((value): value is string => typeof value === 'string') ?? null;
  } catch {
    return null;
  }
}
