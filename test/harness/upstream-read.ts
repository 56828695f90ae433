/** A request as received over the wire, before decoding. */
export interface RequestHead {
  readonly method: string;
  /** The request target as sent. */
  readonly path: string;
  /** Name and value of each header line, in order and spelling of the wire. */
  readonly headers: readonly (readonly [string, string])[];
}

/** The reader's events: a head as soon as it is complete, then the body as soon as that is. */
export type ReadEvent =
  | { readonly kind: 'head'; readonly head: RequestHead }
  | { readonly kind: 'body'; readonly raw: Buffer };

type State =
  | { readonly at: 'head' }
  | { readonly at: 'length'; left: number; readonly pieces: Buffer[] }
  | { readonly at: 'chunked'; readonly pieces: Buffer[] };

const BLANK_LINE = '\r\n\r\n';

/**
 * Reads HTTP/1.1 requests out of the bytes of one connection, one after the other.
 * Strict on purpose: what a lenient server would forgive is a fault of the client under test.
 */
export class RequestReader {
  #rest: Buffer = Buffer.alloc(0);
  #state: State = { at: 'head' };

  /**
   * The events that `bytes` completed, in order; none when more is needed. Throws on malformed
   * HTTP.
   */
  feed(bytes: Buffer): readonly ReadEvent[] {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    const events: ReadEvent[] = [];
    for (let event = this.#step(); event !== null; event = this.#step()) events.push(event);
    return events;
  }

  #step(): ReadEvent | null {
    switch (this.#state.at) {
      case 'head':
        return this.#readHead();
      case 'length':
        return this.#readLength(this.#state);
      case 'chunked':
        return this.#readChunks(this.#state.pieces);
    }
  }

  #readHead(): ReadEvent | null {
    const end = this.#rest.indexOf(BLANK_LINE);
    if (end === -1) return null;
    const head = parseHead(this.#rest.toString('latin1', 0, end));
    this.#rest = this.#rest.subarray(end + BLANK_LINE.length);
    this.#state = bodyState(head);
    return { kind: 'head', head };
  }

  #readLength(state: { left: number; readonly pieces: Buffer[] }): ReadEvent | null {
    const taken = this.#rest.subarray(0, state.left);
    state.pieces.push(taken);
    state.left -= taken.length;
    this.#rest = this.#rest.subarray(taken.length);
    return state.left > 0 ? null : this.#bodyDone(state.pieces);
  }

  #readChunks(pieces: Buffer[]): ReadEvent | null {
    for (;;) {
      const lineEnd = this.#rest.indexOf('\r\n');
      if (lineEnd === -1) return null;
      const line = this.#rest.toString('latin1', 0, lineEnd);
      if (!/^[0-9a-f]+$/i.test(line)) throw new Error(`not a chunk size: ${JSON.stringify(line)}`);
      const size = Number.parseInt(line, 16);
      const next = lineEnd + 2 + size + 2;
      if (this.#rest.length < next) return null;
      if (this.#rest.toString('latin1', next - 2, next) !== '\r\n')
        throw new Error('a chunk without its end');
      pieces.push(this.#rest.subarray(lineEnd + 2, next - 2));
      this.#rest = this.#rest.subarray(next);
      if (size === 0) return this.#bodyDone(pieces);
    }
  }

  #bodyDone(pieces: readonly Buffer[]): ReadEvent {
    this.#state = { at: 'head' };
    return { kind: 'body', raw: Buffer.concat(pieces) };
  }
}

/** The first value of a header, case-insensitive; null when absent. */
export function headerOf(headers: RequestHead['headers'], name: string): string | null {
  return headers.find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1] ?? null;
}

function parseHead(text: string): RequestHead {
  const [first = '', ...lines] = text.split('\r\n');
  const parts = /^([A-Z]+) (\S+) HTTP\/1\.1$/.exec(first);
  if (parts === null) throw new Error(`not a request line: ${JSON.stringify(first)}`);
  const [, method = '', path = ''] = parts;
  return { method, path, headers: lines.map(parseHeader) };
}

function parseHeader(line: string): readonly [string, string] {
  const colon = line.indexOf(':');
  if (colon < 1) throw new Error(`not a header line: ${JSON.stringify(line)}`);
  return [line.slice(0, colon), line.slice(colon + 1).trim()];
}

function bodyState(head: RequestHead): State {
  const encoding = headerOf(head.headers, 'transfer-encoding');
  const length = headerOf(head.headers, 'content-length');
  if (encoding !== null && length !== null) throw new Error('both content-length and transfer-encoding');
  if (encoding !== null) {
    if (encoding !== 'chunked') throw new Error(`transfer-encoding ${encoding}`);
    return { at: 'chunked', pieces: [] };
  }
  if (length !== null && !/^\d+$/.test(length)) throw new Error(`content-length ${length}`);
  return { at: 'length', left: Number(length ?? 0), pieces: [] };
}
