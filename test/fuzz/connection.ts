import { RawClient, type RawResponse } from '../harness/raw-client.ts';
import type { Drawn } from './draw.ts';
import type { World } from './world.ts';

/** The bytes of a request, as they go over the socket. */
export function bytesOf(drawn: Drawn, world: World): Buffer {
  const authorization = world.credentials.get(drawn.credential) ?? null;
  const target = drawn.query.length === 0 ? drawn.path : `${drawn.path}?${drawn.query.join('&')}`;
  const body =
    drawn.body === null
      ? null
      : Buffer.isBuffer(drawn.body)
        ? drawn.body
        : Buffer.from(JSON.stringify(drawn.body));
  const lines = [
    `${drawn.method} ${target} HTTP/1.1`,
    'host: naru.example',
    ...(authorization === null ? [] : [`authorization: ${authorization}`]),
    ...drawn.headers,
    ...(body === null
      ? []
      : drawn.framing === 'length'
        ? [`content-length: ${body.length}`]
        : ['transfer-encoding: chunked']),
    '',
    '',
  ];
  const head = Buffer.from(lines.join('\r\n'));
  if (body === null) return head;
  return Buffer.concat([head, drawn.framing === 'length' ? body : chunked(body)]);
}

function chunked(body: Buffer): Buffer {
  const half = Math.ceil(body.length / 2);
  const parts = [body.subarray(0, half), body.subarray(half)].filter((part) => part.length > 0);
  return Buffer.concat([
    ...parts.flatMap((part) => [Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')]),
    Buffer.from('0\r\n\r\n'),
  ]);
}

/** One connection that is kept alive for as long as the server keeps it, and then another. */
export class Connection {
  readonly #port: number;
  readonly #limitMs: number;
  #client: RawClient | null = null;

  /** No response may take longer than `limitMs`. */
  constructor(port: number, limitMs: number) {
    this.#port = port;
    this.#limitMs = limitMs;
  }

  /**
   * The response; null when the server closed without one. Throws when none arrived in time, or
   * more than one.
   */
  async exchange(
    bytes: Buffer,
    more: { readonly bodiless: boolean; readonly unreadable: boolean },
  ): Promise<RawResponse | null> {
    this.#client ??= await RawClient.open(this.#port);
    const client = this.#client;
    client.write(bytes);
    const late = Promise.withResolvers<'late'>();
    const timer = setTimeout(() => late.resolve('late'), this.#limitMs);
    const response = await Promise.race([finalResponse(client, more.bodiless), late.promise]);
    clearTimeout(timer);
    if (response === 'late') {
      this.close();
      throw new Error(`no response within ${this.#limitMs} ms`);
    }
    if (client.pending > 0 && !more.unreadable)
      throw new Error(`${client.pending} bytes follow the response`);
    if (response === null || more.unreadable || response.all('connection').includes('close')) this.close();
    return response;
  }

  close(): void {
    this.#client?.close();
    this.#client = null;
  }
}

/** The response after a `100 Continue`, if there is one. */
async function finalResponse(client: RawClient, bodiless: boolean): Promise<RawResponse | null> {
  const response = await client.response(bodiless);
  return response?.status === 100 ? client.response(bodiless) : response;
}
