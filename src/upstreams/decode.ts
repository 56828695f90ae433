import { pipeline, Readable, type Transform } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';
import { ByteStream } from './byte-stream.ts';

/** A body with more encodings than this is hostile. */
const maxEncodings = 2;
/**
 * Above this many decoded bytes, the expansion ratio of a body is limited; text streams reach some
 * 50.
 */
const freeBytes = 16 * 1024 * 1024;
const maxExpansion = 100;
/** Given to the decoders at once: a bomb is compared with what of it was decoded, not with what arrived. */
const stepBytes = 16 * 1024;
/** 8 MiB, which RFC 8878 recommends; a body may ask for 128 MiB by default. */
const maxZstdWindowLog = 23;

/** A map: an upstream may name an encoding `constructor`. */
const decoders: ReadonlyMap<string, (first: number) => Transform> = new Map<
  string,
  (first: number) => Transform
>([
  ['gzip', () => createGunzip()],
  ['x-gzip', () => createGunzip()],
  // Some upstreams send zlib format, as the standard requires, some raw deflate: the first byte
  // differs.
  ['deflate', (first: number) => ((first & 0x0f) === 8 ? createInflate() : createInflateRaw())],
  ['br', () => createBrotliDecompress()],
  ['zstd', () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: maxZstdWindowLog } })],
]);

/**
 * Removes a body's content encodings, for upstreams that encode unasked: gzip, deflate, br and
 * zstd, two of them at most. Flushed data is returned at once. The stream fails, and the connection
 * is closed, when the encoding is unknown, the bytes are damaged or truncated, or they expand like
 * a compression bomb. `encodings` is the header's value.
 */
export function decoded(body: ByteStream, encodings: string): ByteStream {
  const names = encodings
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity');
  if (names.length === 0) return body;
  const unknown = names.find((name) => !decoders.has(name));
  if (unknown !== undefined || names.length > maxEncodings) {
    const error = new Error(
      unknown === undefined ? 'too many content encodings' : `the content encoding ${unknown} is unknown`,
    );
    body.cancel(error);
    return brokenStream(error);
  }
  const out = new ByteStream();
  const transforms: Transform[] = [];
  const stop = (error: Error): void => {
    out.fail(error);
    body.cancel(error);
    for (const transform of transforms) transform.destroy();
  };
  out.attach({
    pause: () => transforms.at(-1)?.pause(),
    resume: () => transforms.at(-1)?.resume(),
    cancel: stop,
  });
  decode(body, names.reverse(), { out, transforms, stop }).catch((error: Error) => stop(error));
  return out;
}

interface Decoding {
  readonly out: ByteStream;
  /** Receives the decoders, in the order of decoding. */
  readonly transforms: Transform[];
  readonly stop: (error: Error) => void;
}

/** Resolves once the decoders are set up, or at the end of an empty body. */
async function decode(
  body: ByteStream,
  names: readonly string[],
  { out, transforms, stop }: Decoding,
): Promise<void> {
  const first = await body.next();
  if (first === null) return out.end();
  let takenBytes = 0;
  async function* pieces(): AsyncGenerator<Buffer> {
    for (let taken: Buffer | null = first; taken !== null; taken = await body.next()) {
      for (let at = 0; at < taken.length; at += stepBytes) {
        const step = taken.subarray(at, at + stepBytes);
        takenBytes += step.length;
        yield step;
      }
    }
  }
  for (const name of names) {
    const create = decoders.get(name);
    // Inside another encoding the first byte is not available, so deflate means the standard's zlib
    // format.
    if (create !== undefined) transforms.push(create(transforms.length === 0 ? (first[0] ?? 8) : 8));
  }
  // Also after the pipeline has detached from them.
  for (const transform of transforms) transform.on('error', stop);
  const last = transforms.at(-1);
  if (last === undefined) return;
  let givenBytes = 0;
  last.on('data', (chunk: Buffer) => {
    givenBytes += chunk.length;
    if (givenBytes > freeBytes && givenBytes > takenBytes * maxExpansion)
      stop(new Error('the body expands beyond its limit'));
    else out.push(chunk);
  });
  last.once('end', () => out.end());
  pipeline([Readable.from(pieces()), ...transforms], (error) => {
    if (error != null) stop(error);
  });
}

function brokenStream(error: Error): ByteStream {
  const broken = new ByteStream();
  broken.fail(error);
  return broken;
}
