import { StringDecoder } from 'node:string_decoder';

/**
 * The longest event data accepted from an upstream, in UTF-16 units: an image in base64 fits, an
 * endless line does not.
 */
export const maxEventDataLength = 16 * 1024 * 1024;

/** The stream's terminator. */
export const doneData = '[DONE]';

/**
 * Splits the bytes of an event stream into the data of its events. Handles LF, CRLF and CR line
 * ends, a byte order mark, comments, events of several data lines, and characters cut anywhere by
 * the network.
 */
export class SseDecoder {
  /**
   * Set only while a character is cut: nearly every piece ends with a line, and a decoder takes 400
   * bytes.
   */
  #utf8: StringDecoder | null = null;
  #pending = '';
  #data: string | null = null;
  #atStart = true;
  #lastWasCarriageReturn = false;
  #isTooLong = false;

  /**
   * Whether a line or an event was longer than `maxEventDataLength`. Nothing after it is decoded.
   */
  get isTooLong(): boolean {
    return this.#isTooLong;
  }

  /** Decodes the next bytes and returns the data of the events they complete. */
  push(bytes: Buffer): readonly string[] {
    let text = this.#isTooLong ? '' : this.#decode(bytes);
    if (text === '') return [];
    if (this.#atStart) {
      this.#atStart = false;
      if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    }
    text = this.#unifyLineEnds(text);
    const events: string[] = [];
    let from = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
      const line = this.#pending === '' ? text.slice(from, end) : this.#pending + text.slice(from, end);
      this.#pending = '';
      from = end + 1;
      this.#takeLine(line, events);
      if (this.#isTooLong) return events;
    }
    this.#pending += text.slice(from);
    this.#checkLength(this.#pending);
    return events;
  }

  /** The data of a last event without its blank line: some upstreams close right after it. */
  end(): readonly string[] {
    const events: string[] = [];
    if (this.#isTooLong) return events;
    if (this.#pending !== '') this.#takeLine(this.#pending, events);
    this.#pending = '';
    this.#takeLine('', events);
    return events;
  }

  #takeLine(line: string, events: string[]): void {
    if (line === '') {
      if (this.#data !== null && this.#data !== '') events.push(this.#data);
      this.#data = null;
      return;
    }
    this.#checkLength(line);
    if (!line.startsWith('data')) return;
    // "data:x" and "data: x" are the same field; "data" alone is an empty line of data.
    if (line.length > 4 && line.charCodeAt(4) !== 0x3a) return;
    const value = line.charCodeAt(5) === 0x20 ? line.slice(6) : line.slice(5);
    this.#data = this.#data === null ? value : `${this.#data}\n${value}`;
    this.#checkLength(this.#data);
  }

  /**
   * A complete line has the same limit as an incomplete one, so that the result does not depend on
   * how bytes are read.
   */
  #checkLength(text: string): void {
    this.#isTooLong ||= text.length > maxEventDataLength;
  }

  #decode(bytes: Buffer): string {
    const endsWhole = (bytes.at(-1) ?? 0) < 0x80;
    if (this.#utf8 === null && endsWhole) return bytes.toString('utf8');
    this.#utf8 ??= new StringDecoder('utf8');
    const text = this.#utf8.write(bytes);
    if (endsWhole && bytes.length > 0) this.#utf8 = null;
    return text;
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
