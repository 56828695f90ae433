import type { CompletionRequest, InputModality } from '../wire/chat.ts';
import { isObject } from '../wire/json-object.ts';

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
const nothing: readonly never[] = [];

/**
 * What routing needs to know about a prompt: its media, and the bytes of its text. Without media
 * the body's length is a free upper bound: no byte makes more than one token.
 */
export function measureInput(
  input: unknown,
  parameters: Readonly<Record<string, unknown>>,
  bodyBytes: number,
): Measured {
  let inputs: Set<InputModality> | null = null;
  let mediaParts = 0;
  for (const message of Array.isArray(input) ? (input as readonly unknown[]) : nothing) {
    const content = isObject(message) ? message['content'] : null;
    if (!Array.isArray(content)) continue;
    for (const { type } of content as readonly { readonly type: string }[]) {
      const modality = modalityOfPart.get(type);
      if (modality === undefined) continue;
      inputs ??= new Set();
      inputs.add(modality);
      mediaParts += 1;
    }
  }
  if (inputs === null) return { inputs: textAlone, mediaParts, textBytes: bodyBytes };
  return { inputs, mediaParts, textBytes: bytesOf(promptTexts(input, parameters)) };
}

/** Every text that a tokenizer would count: contents, names, tool calls, tools and schemas. */
export function promptTexts(
  input: unknown,
  { tools, response_format: format }: Readonly<Record<string, unknown>>,
): readonly string[] {
  const texts: string[] = [];
  if (typeof input === 'string') texts.push(input);
  else if (Array.isArray(input)) for (const item of input) addTextsOf(item, texts);
  if (tools !== undefined) texts.push(JSON.stringify(tools));
  if (format !== undefined) texts.push(JSON.stringify(format));
  return texts;
}

/** The UTF-8 bytes of all texts. */
export function bytesOf(texts: readonly string[]): number {
  let bytes = 0;
  for (const text of texts) bytes += Buffer.byteLength(text);
  return bytes;
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

function addTextsOf(item: unknown, texts: string[]): void {
  if (typeof item === 'string') texts.push(item);
  if (!isObject(item)) return;
  const { content, name, reasoning, tool_calls: calls } = item;
  if (typeof content === 'string') texts.push(content);
  if (typeof name === 'string') texts.push(name);
  if (typeof reasoning === 'string') texts.push(reasoning);
  if (Array.isArray(calls)) texts.push(JSON.stringify(calls));
  if (!Array.isArray(content)) return;
  for (const { text } of content as readonly { readonly text?: unknown }[])
    if (typeof text === 'string') texts.push(text);
}
