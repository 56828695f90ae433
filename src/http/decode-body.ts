import { promisify } from 'node:util';
import { brotliDecompress, constants, gunzip, inflate, inflateRaw, zstdDecompress } from 'node:zlib';
import { refuse } from '../errors/catalogue.ts';
import { messages } from '../errors/messages.ts';
import { BodyTooLarge } from './read-body.ts';

/** A body with more encodings than this is hostile. */
const maxEncodings = 2;
/** 8 MiB, which RFC 8878 recommends; a body may ask for 128 MiB by default. */
const maxZstdWindowLog = 23;

type Decoder = (bytes: Buffer, maxOutputLength: number) => Promise<Buffer>;
const inflated = promisify(inflate);
const inflatedRaw = promisify(inflateRaw);
const gunzipped = promisify(gunzip);
const unbrotlied = promisify(brotliDecompress);
const unzstded = promisify(zstdDecompress);

const decoders: ReadonlyMap<string, Decoder> = new Map<string, Decoder>([
  ['gzip', (bytes, maxOutputLength) => gunzipped(bytes, { maxOutputLength })],
  ['x-gzip', (bytes, maxOutputLength) => gunzipped(bytes, { maxOutputLength })],
  // Some clients send zlib format, as the standard requires, some raw deflate: the first byte differs.
  [
    'deflate',
    (bytes, maxOutputLength) =>
      ((bytes[0] ?? 8) & 0x0f) === 8
        ? inflated(bytes, { maxOutputLength })
        : inflatedRaw(bytes, { maxOutputLength }),
  ],
  ['br', (bytes, maxOutputLength) => unbrotlied(bytes, { maxOutputLength })],
  [
    'zstd',
    (bytes, maxOutputLength) =>
      unzstded(bytes, { maxOutputLength, params: { [constants.ZSTD_d_windowLogMax]: maxZstdWindowLog } }),
  ],
]);

/** The content encodings of a body in the order in which they were applied; none for `identity`. */
export function encodingsOf(header: string | null): readonly string[] {
  if (header === null) return [];
  return header
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity');
}

/**
 * A body without its content encodings: gzip, deflate, br and zstd, two of them at most. Throws
 * `BodyTooLarge` when it decodes to more than `maxBytes`, and `400 invalid_request` for an unknown
 * encoding or damaged bytes (spec:api/12.10).
 */
export async function decodeBody(
  bytes: Buffer,
  encodings: readonly string[],
  maxBytes: number,
): Promise<Buffer> {
  if (encodings.length > maxEncodings)
    throw refuse('invalid_request', messages.bodyEncoding(encodings.join(', ')));
  let decoded = bytes;
  for (const name of encodings.toReversed()) {
    const decode = decoders.get(name);
    if (decode === undefined) throw refuse('invalid_request', messages.bodyEncoding(name.slice(0, 40)));
    try {
      decoded = await decode(decoded, maxBytes);
    } catch (error) {
      if ((error as { readonly code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE')
        throw new BodyTooLarge(maxBytes);
      throw refuse('invalid_request', messages.bodyDamaged(name));
    }
  }
  return decoded;
}
