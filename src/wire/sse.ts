import { ByteCollector } from './byte-collector.ts';

/**
 * The longest line, and the longest event, accepted from an upstream: an image in base64 fits, an
 * endless line does not.
 */
export const maxEventBytes = 16 * 1024 * 1024;
/** The most lines of an event: JSON that is written over lines fits. Each line costs 32 bytes. */
export const maxEventLines = 10_000;

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** The stream's terminator. */
export const doneData = '[DONE]';

/**
 * Splits the bytes of an event stream into the data of its events. Handles LF, CRLF and CR line
 * ends, a byte order mark, comments, events of several data lines, and characters cut anywhere by
 * the network.
 */
export class SseDecoder {
  /**
   * The bytes of a line that has not ended, which are whole characters once it has. Null: none, as
   * in nearly every silent stream.
   */
  #pending: ByteCollector | null = null;
  #data: string | null = null;
  /** Lines of `#data`. */
  #lines = 0;
  #atStart = true;
  #lastWasCarriageReturn = false;
  #isTooLong = false;

  /**
   * Whether a line or an event was longer than `maxEventBytes`, or an event had more lines than
   * `maxEventLines`. Nothing after it is decoded.
   */
  get isTooLong(): boolean {
    return this.#isTooLong;
  }

  /** Bytes of memory that an event without its end takes. */
  get heldBytes(): number {
    return (this.#pending?.heldBytes ?? 0) + (this.#data?.length ?? 0);
  }

  /** Decodes the next bytes and returns the data of the events they complete. */
  push(bytes: Buffer): readonly string[] {
    const events: string[] = [];
    if (this.#isTooLong) return events;
    const end = Math.max(bytes.lastIndexOf(lineFeed), bytes.lastIndexOf(carriageReturn)) + 1;
    if (end > 0) this.#takeLines(this.#decode(bytes.subarray(0, end)), events);
    if (end < bytes.length && !this.#isTooLong) {
      // A copy: the first piece must not keep the network block that it is a part of.
      const rest = this.#pending === null ? Buffer.from(bytes.subarray(end)) : bytes;
      this.#pending ??= new ByteCollector(Number.POSITIVE_INFINITY);
      this.#pending.push(rest);
      this.#isTooLong = this.#pending.length > maxEventBytes;
    }
    return events;
  }

  /** The data of a last event without its blank line: some upstreams close right after it. */
  end(): readonly string[] {
    const events: string[] = [];
    if (this.#isTooLong) return events;
    this.#takeLines(`${this.#decode(Buffer.alloc(0))}\n`, events);
    if (!this.#isTooLong) this.#takeLine('', events);
    return events;
  }

  /** Complete lines, with what was pending before them. */
  #decode(bytes: Buffer): string {
    let whole = bytes;
    if (this.#pending !== null) {
      this.#pending.push(bytes);
      whole = this.#pending.take();
      this.#pending = null;
    }
    const text = whole.toString('utf8');
    if (!this.#atStart || text === '') return text;
    this.#atStart = false;
    return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  }

  #takeLines(decoded: string, events: string[]): void {
    const text = this.#unifyLineEnds(decoded);
    let from = 0;
    for (let end = text.indexOf('\n'); end !== -1 && !this.#isTooLong; end = text.indexOf('\n', from)) {
      this.#takeLine(text.slice(from, end), events);
      from = end + 1;
    }
  }

  #takeLine(line: string, events: string[]): void {
    if (line === '') {
      if (this.#data !== null && this.#data !== '') events.push(this.#data);
      this.#data = null;
      this.#lines = 0;
      return;
    }
    // A complete line has the limit of an incomplete one, so that the result does not depend on how
    // bytes are read. A unit has at most three bytes.
    if (line.length > maxEventBytes / 3 && Buffer.byteLength(line) > maxEventBytes) this.#isTooLong = true;
    if (!line.startsWith('data')) return;
    // "data:x" and "data: x" are the same field; "data" alone is an empty line of data.
    if (line.length > 4 && line.charCodeAt(4) !== 0x3a) return;
    const value = line.charCodeAt(5) === 0x20 ? line.slice(6) : line.slice(5);
    this.#data = this.#data === null ? value : `${this.#data}\n${value}`;
    this.#lines += 1;
    this.#isTooLong ||= this.#lines > maxEventLines || this.#data.length > maxEventBytes;
  }

  #unifyLineEnds(text: string): string {
    const continued = this.#lastWasCarriageReturn && text.startsWith('\n') ? text.slice(1) : text;
    this.#lastWasCarriageReturn = text.endsWith('\r');
    return continued.includes('\r') ? continued.replace(/\r\n?/g, '\n') : continued;
  }
}

/** One event. `data` must not contain a line break; JSON text never does. */
export function sseEvent(data: string): string {
  return `data: ${data}\n\n`;
}

/** A comment: keeps a silent connection alive without an event. */
export const sseKeepAlive = ': keep-alive\n\n';
