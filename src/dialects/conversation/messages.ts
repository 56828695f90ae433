import { isObject, type JsonObject } from '../../wire/json.ts';
import { textOfDetails } from '../../wire/reasoning-details.ts';
import { type NoteChange, type PricedServices, UnsupportedRequest } from '../dialect.ts';
import { withPricedCache } from './dearer-services.ts';
import type { MessageRules, Role } from './rules.ts';

/** Stands for the output of a tool that returned none. */
export const noOutput = '(no output)';

/** What messages are written by. */
export interface CleanedBy {
  readonly rules: MessageRules;
  readonly priced: PricedServices;
  readonly note: NoteChange;
}

/** Whether a text has no visible character. */
export function isBlank(text: string): boolean {
  return text.trim() === '';
}

/**
 * A message without what its API rejects: null and empty members, unknown members, blank texts,
 * parts of a wrong type. None for a message of which nothing is left; two where a tool's images
 * are sent as the user's. Throws `UnsupportedRequest` for a part that cannot be sent.
 */
export function cleanMessage(given: JsonObject, by: CleanedBy): readonly JsonObject[] {
  const { rules, priced, note } = by;
  const message = withPricedCache(given, priced, note);
  const role = message['role'] === 'developer' && !rules.developer ? 'system' : message['role'];
  const of: Role = role === 'user' || role === 'assistant' || role === 'tool' ? role : 'system';
  const { content, thoughts, media } = contentOf(message['content'], of, by);
  const written: Record<string, unknown> = { role };
  for (const [name, value] of Object.entries(message)) {
    if (name === 'role' || value === null || isEmptyList(value)) continue;
    if (name !== 'content' && isMemberOf(name, of, rules)) written[name] = value;
    else if (name !== 'content' && value !== '' && !isReasoning(name)) note(`messages.${name}`, 'dropped');
  }
  if (thoughts !== '' && written['reasoning'] === undefined) written['reasoning'] = thoughts;
  const calls = written['tool_calls'];
  if (content !== null) written['content'] = content;
  else if (calls !== undefined && 'content' in message) written['content'] = null;
  if (of === 'tool') return [withOutput(written, rules), ...media];
  if (content !== null && content !== '') return [written];
  if (calls !== undefined || written['audio'] !== undefined) return [written];
  // An empty answer keeps the alternation of roles where the API accepts it.
  const isKept = !rules.noBlankText && !(of === 'assistant' && rules.answersTools);
  if (isKept) return [{ ...written, content: '' }];
  if (of !== 'assistant' || !hasReasoning(written)) return [];
  if (hasThoughtText(written) || !rules.answersTools) return [written];
  return [];
}

/** Whether reasoning has a text, the only form that an API without signatures accepts. */
function hasThoughtText({
  reasoning,
  reasoning_content: content,
  reasoning_details: details,
}: JsonObject): boolean {
  const stated = [reasoning, content, textOfDetails(details)];
  return stated.some((text) => typeof text === 'string' && text !== '');
}

/** Reasoning is written by `writeReasoning`, whatever its member. */
function isReasoning(name: string): boolean {
  return name === 'reasoning' || name === 'reasoning_content' || name === 'reasoning_details';
}

function hasReasoning(message: JsonObject): boolean {
  return Object.keys(message).some(isReasoning);
}

function isMemberOf(name: string, role: Role, { members }: MessageRules): boolean {
  return members === null || isReasoning(name) || name === 'cache_control' || members[role].includes(name);
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function withOutput(message: JsonObject, { noBlankText }: MessageRules): JsonObject {
  const { content } = message;
  const isNone = content === undefined || content === null || (noBlankText && content === '');
  if (isNone) return { ...message, content: noBlankText ? noOutput : '' };
  // Media alone are no result of a call at these APIs.
  const isMedia =
    noBlankText && Array.isArray(content) && content.every(({ type }: JsonObject) => type !== 'text');
  return isMedia ? { ...message, content: [{ type: 'text', text: noOutput }, ...content] } : message;
}

interface Content {
  /** Null when there is none. */
  readonly content: unknown;
  /** The text of parts with reasoning. */
  readonly thoughts: string;
  /** Messages of the user for what a tool's message cannot have. */
  readonly media: readonly JsonObject[];
}

function contentOf(content: unknown, role: Role, { rules, priced, note }: CleanedBy): Content {
  if (typeof content === 'string') {
    const text = rules.noBlankText && isBlank(content) ? '' : content;
    return { content: text, thoughts: '', media: [] };
  }
  if (!Array.isArray(content)) return { content: null, thoughts: '', media: [] };
  const known = rules.parts?.[role] ?? null;
  const parts: JsonObject[] = [];
  const media: JsonObject[] = [];
  let thoughts = '';
  for (const stated of content as readonly JsonObject[]) {
    const part = withPricedCache(stated, priced, note);
    const { type } = part;
    const isTaken = known === null || (known !== 'string' && known.includes(String(type)));
    if (type === 'thinking' && (known === null || !isTaken)) thoughts += thinkingText(part);
    else if (type === 'text' && rules.noBlankText && isBlank(textOf(part['text']))) continue;
    else if (isTaken || type === 'text') parts.push(withTrueMedia(part));
    else if (type === 'refusal') parts.push({ type: 'text', text: textOf(part['refusal']) });
    else if (role === 'tool' && isUsersPart(part, rules)) media.push(withTrueMedia(part));
    else throw new UnsupportedRequest(`a part of type ${String(type).slice(0, 40)} in this place`);
  }
  return { content: listOf(parts, known), thoughts, media: usersMessages(media) };
}

function listOf(parts: readonly JsonObject[], known: readonly string[] | 'string' | null): unknown {
  if (parts.length === 0) return '';
  return known === 'string' ? parts.map(({ text }) => textOf(text)).join('\n') : parts;
}

function isUsersPart({ type }: JsonObject, { parts }: MessageRules): boolean {
  return parts !== null && parts.user !== 'string' && parts.user.includes(String(type));
}

/** What a tool returned and its message cannot have follows as the user's. */
function usersMessages(media: readonly JsonObject[]): readonly JsonObject[] {
  return media.length === 0 ? [] : [{ role: 'user', content: media }];
}

function withTrueMedia(part: JsonObject): JsonObject {
  const { type } = part;
  if (type !== 'image_url' && type !== 'input_image' && type !== 'file') return part;
  const member = type === 'file' ? 'file' : 'image_url';
  const inner = type === 'file' ? 'file_data' : 'url';
  const held = part[member];
  if (typeof held === 'string') return { ...part, [member]: withTrueType(held) };
  const uri = isObject(held) ? held[inner] : undefined;
  if (typeof uri !== 'string') return part;
  const typed = withTrueType(uri);
  return typed === uri ? part : { ...part, [member]: { ...(held as JsonObject), [inner]: typed } };
}

function thinkingText({ thinking }: JsonObject): string {
  if (typeof thinking === 'string') return thinking;
  if (!Array.isArray(thinking)) return '';
  return thinking.map((piece: unknown) => (isObject(piece) ? textOf(piece['text']) : '')).join('');
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The first bytes of the kinds of image, and of a document, that upstreams accept. */
const signatures: readonly { readonly type: string; readonly at: number; readonly bytes: string }[] = [
  { type: 'image/png', at: 0, bytes: '\x89PNG' },
  { type: 'image/jpeg', at: 0, bytes: '\xff\xd8\xff' },
  { type: 'image/gif', at: 0, bytes: 'GIF8' },
  { type: 'image/webp', at: 8, bytes: 'WEBP' },
  { type: 'application/pdf', at: 0, bytes: '%PDF' },
];
/** As much base64 as the longest signature needs. */
const headLength = 16;
/** Other spellings of a type. */
const synonyms: ReadonlyMap<string, string> = new Map([
  ['image/jpg', 'image/jpeg'],
  ['image/pjpeg', 'image/jpeg'],
  ['image/x-png', 'image/png'],
]);

/**
 * A `data:` URI that states the type of its bytes: clients label images by the name of a file, and
 * upstreams reject a label that the bytes contradict. Any other text is returned as it is.
 */
export function withTrueType(uri: string): string {
  const head = /^data:([^;,]*)((?:;[^,]*)?;base64),/i.exec(uri.slice(0, 200));
  if (head === null) return uri;
  const [whole, stated = '', options = ''] = head;
  const start = Buffer.from(uri.slice(whole.length, whole.length + headLength), 'base64').toString('latin1');
  const found = signatures.find(({ at, bytes }) => start.startsWith(bytes, at))?.type;
  const type = found ?? synonyms.get(stated.toLowerCase()) ?? stated;
  return type === stated ? uri : `data:${type}${options},${uri.slice(whole.length)}`;
}
