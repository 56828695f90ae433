import type { CompletionRequest, InputModality } from '../wire/chat.ts';

type Measured = Pick<CompletionRequest, 'inputs' | 'mediaParts' | 'textBytes'>;

/** A map: a client may call a part `constructor`. */
const modalityOfPart: ReadonlyMap<string, InputModality> = new Map([
  ['image_url', 'image'],
  ['input_image', 'image'],
  ['input_audio', 'audio'],
  ['file', 'file'],
  ['video_url', 'video'],
  ['input_video', 'video'],
]);

const textAlone: ReadonlySet<InputModality> = new Set();

/**
 * What routing needs to know about a prompt: its media, and the bytes of its text. Without media
 * the body's length is a free upper bound: no byte makes more than one token.
 */
export function measureInput(
  input: unknown,
  parameters: Readonly<Record<string, unknown>>,
  bodyBytes: number,
): Measured {
  let inputs = textAlone;
  let mediaParts = 0;
  for (const part of partsOf(input)) {
    const modality = modalityOfPart.get(part.type);
    if (modality === undefined) continue;
    inputs = new Set([...inputs, modality]);
    mediaParts += 1;
  }
  if (mediaParts === 0) return { inputs, mediaParts, textBytes: bodyBytes };
  let textBytes = 0;
  for (const text of promptTexts(input, parameters)) textBytes += Buffer.byteLength(text);
  return { inputs, mediaParts, textBytes };
}

/** Every text that a tokenizer would count: contents, names, tool calls, tools and schemas. */
export function* promptTexts(
  input: unknown,
  parameters: Readonly<Record<string, unknown>>,
): Generator<string> {
  if (typeof input === 'string') yield input;
  else if (Array.isArray(input)) for (const item of input) yield* textsOf(item);
  for (const name of ['tools', 'response_format']) {
    const value = parameters[name];
    if (value !== undefined) yield JSON.stringify(value);
  }
}

/** The number of prompt tokens given as ids, and of messages: the texts include neither. */
export function countedElsewhere(input: unknown): { readonly tokenIds: number; readonly messages: number } {
  if (!Array.isArray(input)) return { tokenIds: 0, messages: 1 };
  let tokenIds = 0;
  let messages = 0;
  for (const item of input) {
    if (typeof item === 'number') tokenIds += 1;
    else if (Array.isArray(item)) tokenIds += item.length;
    else messages += 1;
  }
  return { tokenIds, messages: Math.max(1, messages) };
}

function* textsOf(item: unknown): Generator<string> {
  if (typeof item === 'string') yield item;
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return;
  const message = item as Readonly<Record<string, unknown>>;
  if (typeof message['content'] === 'string') yield message['content'];
  if (typeof message['name'] === 'string') yield message['name'];
  if (typeof message['reasoning'] === 'string') yield message['reasoning'];
  if (Array.isArray(message['tool_calls'])) yield JSON.stringify(message['tool_calls']);
  if (!Array.isArray(message['content'])) return;
  for (const part of message['content'] as readonly Readonly<Record<string, unknown>>[]) {
    if (typeof part['text'] === 'string') yield part['text'];
  }
}

function* partsOf(input: unknown): Generator<{ readonly type: string }> {
  if (!Array.isArray(input)) return;
  for (const message of input as readonly unknown[]) {
    if (typeof message !== 'object' || message === null) continue;
    const content = (message as { content?: unknown }).content;
    if (Array.isArray(content)) yield* content as { type: string }[];
  }
}
