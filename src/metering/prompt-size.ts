import type { CompletionRequest, InputModality } from '../wire/chat.ts';
import { isObject, type JsonObject } from '../wire/json.ts';
import { textOfDetails } from '../wire/reasoning-details.ts';

type Measured = Pick<CompletionRequest, 'inputs' | 'mediaParts' | 'textBytes'>;

/** A map: a client may call a part `constructor`. */
const modalityOfPart: ReadonlyMap<string, InputModality> = new Map([
  ['image_url', 'image'],
  ['input_image', 'image'],
  ['input_audio', 'audio'],
  ['audio_url', 'audio'],
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
    if (!isObject(message)) continue;
    const { content, images, audio } = message;
    if (Array.isArray(images)) mediaParts += images.length;
    if (isObject(audio)) mediaParts += 1;
    if (!Array.isArray(content)) continue;
    for (const part of content as readonly JsonObject[]) {
      const modality = modalityOf(part);
      if (modality === undefined) continue;
      inputs ??= new Set();
      inputs.add(modality);
      mediaParts += 1;
    }
  }
  if (mediaParts === 0) return { inputs: textAlone, mediaParts, textBytes: bodyBytes };
  return {
    inputs: inputs ?? textAlone,
    mediaParts,
    textBytes: maxTokensOfText(promptText(input, parameters)),
  };
}

/** The text of a prompt, media excluded. */
export interface PromptText {
  /** What a tokenizer counts: contents, names, reasoning, tool calls, tools and schemas. */
  readonly texts: readonly string[];
  /**
   * UTF-8 bytes of what is sent beside them, and is a part of the prompt for some upstreams: ids,
   * sealed reasoning, reasoning in a second field.
   */
  readonly otherBytes: number;
}

/**
 * The text of a prompt. Every string that is sent is in it, whatever its member is called: what is
 * left out would cost the client nothing.
 */
export function promptText(input: unknown, parameters: Readonly<Record<string, unknown>>): PromptText {
  const { tools, response_format: format, suffix, chat_template_kwargs: template } = parameters;
  const text = new TextCollector();
  if (Array.isArray(input)) for (const item of input) text.addItem(item);
  else text.add(input);
  if (tools !== undefined) text.texts.push(JSON.stringify(tools));
  if (format !== undefined) text.texts.push(JSON.stringify(format));
  text.add(suffix);
  text.add(template);
  return text;
}

/** No byte-level tokenizer makes more tokens of a text than it has bytes. */
export function maxTokensOfText({ texts, otherBytes }: PromptText): number {
  return bytesOf(texts) + otherBytes;
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

function modalityOf({ type }: JsonObject): InputModality | undefined {
  return typeof type === 'string' ? modalityOfPart.get(type) : undefined;
}

/** Members of messages and of their parts that are not text of the conversation. */
const otherMembers: ReadonlySet<string> = new Set([
  ...['id', 'tool_call_id', 'index', 'url', 'format', 'detail', 'cache_control', 'annotations'],
]);
/** Members that contain media, those of an earlier response included: they are counted by number. */
const mediaMembers: ReadonlySet<string> = new Set([
  ...['image_url', 'video_url', 'audio_url', 'input_audio', 'file', 'images', 'audio'],
]);
/** The forms in which clients return reasoning. They have the same text. */
const reasoningMembers: ReadonlySet<string> = new Set([
  ...['reasoning', 'reasoning_content', 'reasoning_details'],
]);
/** The frame of a message allows for all usual roles and types. */
const maxFrameWordLength = 16;

class TextCollector implements PromptText {
  readonly texts: string[] = [];
  otherBytes = 0;

  /** A prompt of a list, or a message. */
  addItem(item: unknown): void {
    if (!isObject(item)) {
      this.add(item);
      return;
    }
    let hasReasoning = false;
    for (const name of Object.keys(item)) {
      if (reasoningMembers.has(name)) hasReasoning = true;
      else if (name === 'tool_calls' && item[name] != null) this.texts.push(JSON.stringify(item[name]));
      else this.#addMember(name, item[name]);
    }
    if (hasReasoning) this.#addReasoning(item);
  }

  /** Every string in a value. */
  add(value: unknown): void {
    if (typeof value === 'string') this.texts.push(value);
    else if (Array.isArray(value)) for (const item of value) this.add(item);
    else if (isObject(value)) for (const name of Object.keys(value)) this.#addMember(name, value[name]);
  }

  #addMember(name: string, value: unknown): void {
    if (name === 'role' || name === 'type') this.#addFrameWord(value);
    else if (otherMembers.has(name)) this.#addOther(value);
    else if (!mediaMembers.has(name)) this.add(value);
  }

  #addOther(value: unknown): void {
    if (typeof value === 'string') this.otherBytes += Buffer.byteLength(value);
    else if (Array.isArray(value)) for (const item of value) this.#addOther(item);
    else if (isObject(value)) for (const name of Object.keys(value)) this.#addOther(value[name]);
  }

  /** Templates of engines write any role into the prompt. */
  #addFrameWord(word: unknown): void {
    if (typeof word === 'string' && word.length > maxFrameWordLength) this.texts.push(word);
  }

  /** The text once, since an upstream reads one of its forms; all of them in `otherBytes`. */
  #addReasoning({ reasoning, reasoning_content: content, reasoning_details: details }: JsonObject): void {
    const inDetails = textOfDetails(details);
    let longest = inDetails;
    for (const text of [reasoning, content])
      if (typeof text === 'string' && text.length > longest.length) longest = text;
    if (longest !== '') this.texts.push(longest);
    for (const form of [reasoning, content, details]) if (form !== longest) this.#addOther(form);
  }
}

/**
 * The most that one image may be counted as. The highest count that is known: `gpt-4o-mini` counts
 * 2,833 and 5,667 for each of at most eight tiles (OpenAI, "Images and vision", calculating costs),
 * and may so count more than its context.
 */
const maxTokensPerImage = 50_000;

/**
 * The most tokens that the media of a request may be counted as. Recordings, films and documents
 * are limited by the context: neither their duration nor their pages are known.
 */
export function maxMediaTokens(
  { inputs, mediaParts }: Pick<CompletionRequest, 'inputs' | 'mediaParts'>,
  contextLength: number,
): number {
  const images = mediaParts * maxTokensPerImage;
  for (const input of inputs) if (input !== 'image') return images + contextLength;
  return images;
}
