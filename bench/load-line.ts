import { connect, type Socket } from 'node:net';

/** What a connection reports about each response. */
export interface LineEvents {
  /**
   * The response to the request whose time counts from `sinceMs` is complete. `first` has its bytes
   * when it was the connection's first.
   */
  responded(line: Line, sinceMs: number, first: Buffer | null): void;
  /** The line can do no more. */
  failed(line: Line, why: string): void;
}

/** All connections read into the same memory: a read is consumed before the next one begins. */
const shared = Buffer.allocUnsafeSlow(256 * 1024);
const LAST_CHUNK = '\r\n0\r\n\r\n';

/**
 * One keep-alive connection that sends the same bytes repeatedly, one request at a time. It parses
 * a response only as far as it must to know that it was 200 and where it ends.
 */
export class Line {
  readonly #socket: Socket;
  readonly #request: Buffer;
  readonly #events: LineEvents;
  #sinceMs = 0;
  /** Remaining bytes of the body; -1 within a chunked body, -2 when no head has been read. */
  #left = -2;
  /** The end of a chunked body, or a head, that arrived in parts. */
  #carry: Buffer = Buffer.alloc(0);
  #kept: Buffer[] | null = [];
  #over = false;

  constructor(port: number, request: Buffer, events: LineEvents) {
    this.#request = request;
    this.#events = events;
    this.#socket = connect({
      port,
      host: '127.0.0.1',
      noDelay: true,
      onread: { buffer: shared, callback: (count, bytes) => this.#read(bytes as Buffer, count) },
    });
    this.#socket.on('error', (error) => this.#fail(String(error)));
    this.#socket.on('close', () => this.#fail('the server closed the connection'));
  }

  /**
   * Sends the request, whose time counts from `sinceMs`. Only for a connection without a pending
   * response.
   */
  send(sinceMs: number): void {
    this.#sinceMs = sinceMs;
    this.#socket.write(this.#request);
  }

  /** Closes the connection without an event. */
  close(): void {
    this.#over = true;
    this.#socket.destroy();
  }

  #read(memory: Buffer, count: number): boolean {
    let bytes = memory.subarray(0, count);
    if (this.#kept !== null) this.#kept.push(Buffer.from(bytes));
    if (this.#left === -2) {
      if (this.#carry.length > 0) bytes = Buffer.concat([this.#carry, bytes]);
      const body = this.#readHead(bytes);
      if (body === -1) {
        if (!this.#over) this.#carry = Buffer.from(bytes);
        return !this.#over;
      }
      this.#carry = Buffer.alloc(0);
      bytes = bytes.subarray(body - 2); // the end of an empty chunked body needs the line break before it
      if (this.#left >= 0) bytes = bytes.subarray(2);
    }
    if (this.#left === -1 ? this.#endsChunked(bytes) : this.#endsByLength(bytes.length)) this.#responded();
    return true;
  }

  /**
   * Where the body begins; -1 when the head is incomplete, or after failing because it is not a
   * 200.
   */
  #readHead(bytes: Buffer): number {
    const end = bytes.indexOf('\r\n\r\n');
    if (end === -1) return -1;
    if (bytes[9] !== 0x32 || bytes[10] !== 0x30 || bytes[11] !== 0x30) {
      this.#fail(`not a 200: ${bytes.toString('utf8', 0, 400)}`);
      return -1;
    }
    const name = bytes.indexOf('ength: '); // of `Content-Length: ` in either spelling
    this.#left = name === -1 || name > end ? -1 : numberAt(bytes, name + 7);
    return end + 4;
  }

  #endsByLength(count: number): boolean {
    this.#left -= count;
    if (this.#left < 0) this.#fail('more bytes than the response was to have');
    return this.#left === 0;
  }

  #endsChunked(bytes: Buffer): boolean {
    const short = bytes.length < LAST_CHUNK.length;
    const seen = short || this.#carry.length > 0 ? Buffer.concat([this.#carry, bytes]) : bytes;
    const from = Math.max(0, seen.length - LAST_CHUNK.length);
    if (seen[seen.length - 5] === 0x30 && seen.toString('latin1', from) === LAST_CHUNK) return true;
    this.#carry = Buffer.from(seen.subarray(from));
    return false;
  }

  #responded(): void {
    const first = this.#kept === null ? null : Buffer.concat(this.#kept);
    this.#kept = null;
    this.#left = -2;
    this.#carry = Buffer.alloc(0);
    this.#events.responded(this, this.#sinceMs, first);
  }

  #fail(why: string): void {
    if (this.#over) return;
    this.close();
    this.#events.failed(this, why);
  }
}

function numberAt(bytes: Buffer, start: number): number {
  let value = 0;
  for (let at = start; ; at += 1) {
    const digit = (bytes[at] ?? 0) - 48;
    if (digit < 0 || digit > 9) return value;
    value = value * 10 + digit;
  }
}
