import type { CompletionKind, ResponseChunk } from '../../wire/chat.ts';
import type { DecodedEvent } from '../dialect.ts';
import { keptLengthOf, readEvent } from './read.ts';

/** How often a stream may teach its frame: some upstreams put a random member into every event. */
const maxFrames = 3;
/** No content of a stream; with it, the frame is tested. */
const probe = 'a text that replaces the content';

/**
 * Reads the events of one stream. Nearly all of them have the same text around their content. So a
 * parsed event serves as the frame of those that follow: of an event with the same text before and
 * after one JSON string, only that string is parsed.
 */
export class ChunkReader {
  readonly #kind: CompletionKind;
  #frame: Frame | null = null;
  #framesLeft = maxFrames;

  constructor(kind: CompletionKind) {
    this.#kind = kind;
  }

  /** Reads one event, with the result of `readEvent`. */
  read(data: string): DecodedEvent {
    const content = this.#frame === null ? null : contentWithin(this.#frame, data);
    if (this.#frame !== null && content !== null) return withContent(this.#frame.chunk, content, data);
    const event = readEvent(this.#kind, data);
    if (this.#framesLeft > 0 && this.#kind === 'chat') {
      const frame = frameOf(data, event);
      if (frame !== null) this.#framesLeft -= 1;
      this.#frame = frame ?? this.#frame;
    }
    return event;
  }
}

interface Frame {
  /** The text up to the first quote of the content, and that from its last quote. */
  readonly before: string;
  readonly behind: string;
  readonly chunk: ResponseChunk;
}

/** The content of an event that differs from the frame by that alone; null for another event. */
function contentWithin({ before, behind }: Frame, data: string): string | null {
  const to = data.length - behind.length;
  if (to < before.length) return null;
  // Compared as strings: startsWith and endsWith compare one character after the other.
  if (data.slice(0, before.length) !== before || data.slice(to) !== behind) return null;
  const content = data.slice(before.length, to);
  if (content.length <= maxCopied && isPlain(content)) return content;
  try {
    return JSON.parse(`"${content}"`) as string;
  } catch {
    return null;
  }
}

/** A slice of this length is a copy; a longer one would keep all the text that arrived with it. */
const maxCopied = 12;

/** Whether the text of a JSON string is the string itself. */
function isPlain(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit < 0x20 || unit === 0x22 || unit === 0x5c) return false;
  }
  return true;
}

/** The frame of an event with a piece of text and nothing else; null for any other event. */
function frameOf(data: string, event: DecodedEvent): Frame | null {
  if (event.kind !== 'chunk' || !isText(event.chunk)) return null;
  const name = /"content": ?"/.exec(data);
  if (name === null) return null;
  const from = name.index + name[0].length;
  const to = data.indexOf('"', from);
  if (to === -1) return null;
  const before = data.slice(0, from);
  const behind = data.slice(to);
  // The test shows that this string is the content, wherever in the event it is.
  const tested = readEvent('chat', `${before}${probe}${behind}`);
  const isContent =
    tested.kind === 'chunk' && isText(tested.chunk) && tested.chunk.choices[0]?.delta.content === probe;
  return isContent ? { before: copyOf(before), behind: copyOf(behind), chunk: event.chunk } : null;
}

/** A slice would keep all the text that arrived with it, for the life of the stream. */
function copyOf(text: string): string {
  return Buffer.from(text).toString();
}

function isText({ choices, usage }: ResponseChunk): boolean {
  const [choice] = choices;
  if (choice === undefined || choices.length > 1 || usage !== null) return false;
  const members = Object.keys(choice.delta);
  return members.length === 1 && members[0] === 'content' && choice.finish_reason === null;
}

function withContent(chunk: ResponseChunk, content: string, data: string): DecodedEvent {
  const { upstreamId, systemFingerprint, serviceTier } = chunk;
  const [first] = chunk.choices;
  const choice = {
    index: first?.index ?? 0,
    delta: { content },
    finish_reason: null,
    native_finish_reason: first?.native_finish_reason ?? null,
    logprobs: first?.logprobs ?? null,
  };
  return {
    kind: 'chunk',
    chunk: { choices: [choice], usage: null, upstreamId, systemFingerprint, serviceTier },
    keptLength: content === '' || choice.logprobs !== null ? keptLengthOf(data) : content.length,
  };
}
