import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** One response as received over a socket. */
export interface RawResponse {
  readonly status: number;
  /** Name in lower case and value of each header line, in order. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
  /** The values of a header. */
  all(name: string): readonly string[];
}

/**
 * A client that sends exactly the bytes it is given: for what no well-behaved HTTP client would
 * send.
 */
export class RawClient {
  readonly #socket: Socket;
  #bytes = Buffer.alloc(0);
  #ended = false;
  #wake = Promise.withResolvers<void>();

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (bytes) => {
      this.#bytes = Buffer.concat([this.#bytes, Buffer.from(bytes)]);
      this.#stir();
    });
    const end = (): void => {
      this.#ended = true;
      this.#stir();
    };
    socket.on('end', end).on('close', end).on('error', end);
  }

  static async open(port: number, localAddress = '127.0.0.1'): Promise<RawClient> {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    await once(socket, 'connect');
    return new RawClient(socket);
  }

  write(bytes: string | Buffer): this {
    this.#socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
    return this;
  }

  /** Bytes that have arrived and belong to no response yet. */
  get pending(): number {
    return this.#bytes.length;
  }

  /**
   * The next whole response, of a HEAD when `bodiless`; null when the server closed before there
   * was one.
   */
  async response(bodiless = false): Promise<RawResponse | null> {
    for (;;) {
      const parsed = parseResponse(this.#bytes, this.#ended, bodiless);
      if (parsed !== null) {
        this.#bytes = this.#bytes.subarray(parsed.length);
        return parsed.response;
      }
      if (this.#ended) return null;
      await this.#wake.promise;
    }
  }

  /**
   * What has arrived and belongs to no response yet; waits until there is something, or the end.
   */
  async some(): Promise<string> {
    while (this.#bytes.length === 0 && !this.#ended) await this.#wake.promise;
    const text = this.#bytes.toString();
    this.#bytes = Buffer.alloc(0);
    return text;
  }

  /** Resolves when the server has closed its side. */
  async closed(): Promise<void> {
    while (!this.#ended) await this.#wake.promise;
  }

  close(): void {
    this.#socket.destroy();
  }

  #stir(): void {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers<void>();
  }
}

/**
 * Sends bytes on a separate connection; returns all responses until the server closed or `count`
 * had arrived.
 */
export async function rawly(
  port: number,
  bytes: string | Buffer,
  count = 1,
): Promise<readonly RawResponse[]> {
  const client = await RawClient.open(port);
  client.write(bytes);
  const responses: RawResponse[] = [];
  for (let response = await client.response(); response !== null; response = await client.response()) {
    responses.push(response);
    if (responses.length === count) break;
  }
  client.close();
  return responses;
}

function parseResponse(
  bytes: Buffer,
  ended: boolean,
  bodiless: boolean,
): { response: RawResponse; length: number } | null {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd === -1) return null;
  const [first = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  const all = (name: string): string[] => headers.filter(([key]) => key === name).map(([, value]) => value);
  const from = headEnd + 4;
  const framing = {
    length: all('content-length')[0],
    chunked: all('transfer-encoding')[0],
    ended,
  };
  const body = bodiless ? { text: '', length: 0 } : bodyOf(bytes.subarray(from), framing);
  if (body === null) return null;
  return {
    response: { status: Number(first.split(' ')[1]), headers, all, body: body.text },
    length: from + body.length,
  };
}

function bodyOf(
  bytes: Buffer,
  framing: {
    readonly length: string | undefined;
    readonly chunked: string | undefined;
    readonly ended: boolean;
  },
): { text: string; length: number } | null {
  if (framing.length !== undefined) {
    const length = Number(framing.length);
    return bytes.length < length ? null : { text: bytes.toString('utf8', 0, length), length };
  }
  if (framing.chunked === undefined) return { text: '', length: 0 };
  const pieces: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd === -1) return null;
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    const next = lineEnd + 2 + size + 2;
    if (bytes.length < next) return null;
    pieces.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = next;
    if (size === 0) return { text: Buffer.concat(pieces).toString('utf8'), length: at };
  }
}
