import { createHash } from 'node:crypto';
import { AwsV4Signer } from 'aws4fetch';
import type { S3Config } from '../config/config.ts';
import { OperatorError } from '../errors/operator-error.ts';
import { HttpError } from '../http/client/http-error.ts';
import { type HttpResponse, request } from '../http/client/request.ts';
import { type Clock, isoOf, pause } from '../time/clock.ts';
import { MissingFile } from './backup-files.ts';

/** How an `S3Client` reaches its store. */
export interface S3Means {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Of uploads and downloads; 16 MiB by default: a store takes at most 10,000 of them. */
  readonly partBytes?: number;
  /** Of a call; 6 by default. */
  readonly maxTries?: number;
  /** The pause before the first retry; each further one is twice as long. */
  readonly retryMs?: number;
}

interface Call {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

interface Reply {
  readonly headers: HttpResponse['headers'];
  readonly bytes: Buffer;
}

const connectTimeoutMs = 10_000;
/** A part of 16 MiB at 60 kB/s. */
const callTimeoutMs = 300_000;
const defaultPartBytes = 16 * 1024 * 1024;
/** Room for the listings and errors of a store. */
const maxTextBytes = 16 * 1024 * 1024;

/**
 * The few calls of S3 that backups need, signed with Signature Version 4. A call is repeated when
 * the connection is lost, and after a 429 or 5xx. Throws an `OperatorError` that names the place and
 * the store's reason, `MissingFile`, or the signal's reason.
 */
export class S3Client {
  readonly name: string;
  readonly #config: S3Config;
  readonly #means: S3Means;
  readonly #base: URL;
  readonly #partBytes: number;
  /** Derived keys of a day. */
  readonly #cache = new Map<string, ArrayBuffer>();

  constructor(config: S3Config, means: S3Means) {
    this.#config = config;
    this.#means = means;
    this.#partBytes = means.partBytes ?? defaultPartBytes;
    this.name = `s3://${config.bucket}`;
    this.#base = new URL(config.endpoint);
    if (!config.pathStyle) this.#base.host = `${config.bucket}.${this.#base.host}`;
    const root = this.#base.pathname.replace(/\/$/, '');
    this.#base.pathname = config.pathStyle ? `${root}/${config.bucket}` : root;
  }

  /** The names directly below a prefix, which ends with a slash: objects, and folders with a slash. */
  async list(prefix: string): Promise<readonly string[]> {
    const names: string[] = [];
    let token: string | undefined;
    do {
      const query = {
        'list-type': '2',
        prefix,
        delimiter: '/',
        ...(token && { 'continuation-token': token }),
      };
      const xml = (await this.#call({ method: 'GET', query })).bytes.toString('utf8');
      const folders = elementsOf(xml, 'CommonPrefixes').flatMap((inner) => elementsOf(inner, 'Prefix'));
      const objects = elementsOf(xml, 'Contents').flatMap((inner) => elementsOf(inner, 'Key'));
      names.push(...[...folders, ...objects].map((name) => name.slice(prefix.length)));
      [token] = elementsOf(xml, 'NextContinuationToken');
    } while (token !== undefined);
    return names.filter((name) => name !== '');
  }

  /** An object, in parts: a lost connection repeats one part. Throws `MissingFile`. */
  async *read(key: string): AsyncGenerator<Buffer> {
    let from = 0;
    let total = 1;
    let etag: string | undefined;
    while (from < total) {
      const headers = {
        range: `bytes=${from}-${from + this.#partBytes - 1}`,
        // The object must not change between two parts.
        ...(etag === undefined ? {} : { 'if-match': etag }),
      };
      const reply = await this.#call({ method: 'GET', key, headers });
      // A store without ranges sends all.
      const range = /\/(\d+)$/.exec(String(reply.headers['content-range'] ?? ''));
      total = range === null ? reply.bytes.length : Number(range[1]);
      etag = reply.headers.etag;
      from += reply.bytes.length;
      if (reply.bytes.length === 0) return;
      yield reply.bytes;
    }
  }

  /** Stores an object; large ones in parts. It exists when this resolves, and not before. */
  async write(key: string, bytes: AsyncIterable<Buffer>): Promise<void> {
    const parts = partsOf(bytes, this.#partBytes);
    const first = await parts.next();
    const second = await parts.next();
    if (second.done === true)
      await this.#call({ method: 'PUT', key, body: first.done === true ? Buffer.alloc(0) : first.value });
    else await this.#writeParts(key, joined([first.value ?? Buffer.alloc(0), second.value], parts));
  }

  async remove(key: string): Promise<void> {
    await this.#call({ method: 'DELETE', key });
  }

  async #writeParts(key: string, parts: AsyncIterable<Buffer>): Promise<void> {
    const started = await this.#call({ method: 'POST', key, query: { uploads: '' } });
    const [uploadId] = elementsOf(started.bytes.toString('utf8'), 'UploadId');
    if (uploadId === undefined) throw new OperatorError(`${this.name} began no upload: it may not be S3`);
    try {
      const etags: string[] = [];
      for await (const body of parts) {
        const query = { partNumber: String(etags.length + 1), uploadId };
        const { headers } = await this.#call({ method: 'PUT', key, query, body });
        etags.push(headers.etag ?? '');
      }
      const rows = etags.map(
        (etag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${etag}</ETag></Part>`,
      );
      const body = Buffer.from(`<CompleteMultipartUpload>${rows.join('')}</CompleteMultipartUpload>`);
      const { bytes } = await this.#call({ method: 'POST', key, query: { uploadId }, body });
      // The head is sent before the outcome is known.
      if (bytes.includes('<Error>')) throw this.#rejected('POST', 200, bytes);
    } catch (error) {
      // Else the store keeps the parts, which no listing shows, until its own rule removes them.
      await this.#call({ method: 'DELETE', key, query: { uploadId } }).catch(() => {});
      throw error;
    }
  }

  async #call(call: Call): Promise<Reply> {
    const { clock, signal, maxTries = 6, retryMs = 500 } = this.#means;
    for (let tries = 1; ; tries++) {
      const last = tries === maxTries;
      try {
        const response = await this.#send(call);
        const { status, headers } = response;
        if (status < 300) return { headers, bytes: await response.bytes() };
        const bytes = await response.bytes();
        if (status === 404 && call.method === 'GET' && call.key !== undefined)
          throw new MissingFile(`${this.name}/${call.key}`);
        if (last || (status !== 429 && status < 500)) throw this.#rejected(call.method, status, bytes);
      } catch (error) {
        if (!(error instanceof HttpError)) throw error;
        if (last)
          throw new OperatorError(`${this.name} at ${this.#base.host}: ${error.message}`, { cause: error });
      }
      await pause(clock, retryMs * 2 ** (tries - 1), signal);
    }
  }

  async #send({
    method,
    key = '',
    query = {},
    headers = {},
    body = Buffer.alloc(0),
  }: Call): Promise<HttpResponse> {
    const { clock, signal } = this.#means;
    const url = new URL(this.#base);
    // The bucket itself has no slash at its end.
    if (key !== '') url.pathname = `${url.pathname.replace(/\/$/, '')}/${key}`;
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const signer = new AwsV4Signer({
      method,
      url: url.href,
      headers: { ...headers, 'x-amz-content-sha256': createHash('sha256').update(body).digest('hex') },
      accessKeyId: this.#config.accessKeyId.reveal(),
      secretAccessKey: this.#config.secretAccessKey.reveal(),
      service: 's3',
      region: this.#config.region,
      cache: this.#cache,
      datetime: isoOf(clock.now()).replace(/[:-]|\.\d{3}/g, ''),
    });
    const signed = await signer.sign();
    return request(signed.url, {
      clock,
      method,
      headers: Object.fromEntries(signed.headers),
      body,
      timeoutMs: callTimeoutMs,
      connectTimeoutMs,
      maxBytes: Math.max(maxTextBytes, this.#partBytes),
      signal,
    });
  }

  #rejected(method: string, status: number, bytes: Buffer): OperatorError {
    const xml = bytes.toString('utf8');
    const reason = [...elementsOf(xml, 'Code'), ...elementsOf(xml, 'Message')].join(': ').slice(0, 500);
    return new OperatorError(
      `${this.name} at ${this.#base.host} rejected ${method}: ${status}${reason === '' ? '' : ` ${reason}`}`,
    );
  }
}

/** The texts of all elements of a name, without their tags; inner elements stay as they are. */
function elementsOf(xml: string, name: string): readonly string[] {
  const found = xml.matchAll(new RegExp(`<${name}(?: [^>]*)?>(.*?)</${name}>`, 'gs'));
  return [...found].map(([, text = '']) => (text.includes('<') ? text : unescaped(text)));
}

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

function unescaped(text: string): string {
  return text.replaceAll(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, (all, decimal, hex, name: string) => {
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    return entities[name] ?? all;
  });
}

/** Cuts bytes into parts of `size`; the last one may be shorter. */
async function* partsOf(bytes: AsyncIterable<Buffer>, size: number): AsyncGenerator<Buffer, undefined> {
  let held: Buffer[] = [];
  let length = 0;
  for await (const piece of bytes) {
    held.push(piece);
    length += piece.length;
    while (length >= size) {
      const all = Buffer.concat(held, length);
      yield all.subarray(0, size);
      held = [all.subarray(size)];
      length -= size;
    }
  }
  if (length > 0) yield Buffer.concat(held, length);
}

async function* joined(first: readonly Buffer[], rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* first;
  yield* rest;
}
