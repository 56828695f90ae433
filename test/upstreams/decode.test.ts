import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import {
  type BrotliCompress,
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createDeflate,
  createDeflateRaw,
  createGzip,
  createZstdCompress,
  type Deflate,
  deflateSync,
  type Gzip,
  gzipSync,
  type ZstdCompress,
} from 'node:zlib';
import { ByteStream } from '../../src/upstreams/byte-stream.ts';
import { decoded } from '../../src/upstreams/decode.ts';

type Encoder = Gzip | Deflate | BrotliCompress | ZstdCompress;

/** The complete output, until the end. */
async function read(stream: ByteStream): Promise<string> {
  const pieces: Buffer[] = [];
  for (let taken = await stream.next(); taken !== null; taken = await stream.next()) pieces.push(taken);
  return Buffer.concat(pieces).toString();
}

/** A body of these pieces, at its end. */
function bodyOf(...pieces: readonly Buffer[]): ByteStream {
  const body = new ByteStream();
  for (const piece of pieces) body.push(piece);
  body.end();
  return body;
}

const encoders: readonly (readonly [string, () => Encoder, number])[] = [
  ['gzip', createGzip, constants.Z_SYNC_FLUSH],
  ['deflate', createDeflate, constants.Z_SYNC_FLUSH],
  ['deflate', createDeflateRaw, constants.Z_SYNC_FLUSH],
  ['br', createBrotliCompress, constants.BROTLI_OPERATION_FLUSH],
  ['zstd', createZstdCompress, constants.ZSTD_e_flush],
];

for (const [encoding, create, flush] of encoders) {
  test(`bytes flushed as ${encoding} (${create.name}) are returned before the next bytes arrive`, async () => {
    const encoder = create();
    const body = new ByteStream();
    encoder.on('data', (piece: Buffer) => body.push(piece));
    encoder.once('end', () => body.end());
    const plain = decoded(body, encoding);
    for (const word of ['나루 ', '🛶 ', 'third ']) {
      encoder.write(word);
      await new Promise<void>((done) => encoder.flush(flush, done));
      let text = '';
      while (text !== word) {
        const taken = await plain.next();
        assert.ok(taken !== null, 'the stream ended early');
        text += taken.toString();
      }
    }
    encoder.end();
    assert.equal(await plain.next(), null);
  });
}

test('two encodings are decoded in order, and a third is rejected', async () => {
  const twice = gzipSync(brotliCompressSync('words'));
  assert.equal(await read(decoded(bodyOf(twice), 'br, gzip')), 'words');
  await assert.rejects(read(decoded(bodyOf(gzipSync(twice)), 'br, gzip, gzip')), /too many/);
  await assert.rejects(read(decoded(bodyOf(twice), 'compress')), /unknown/);
});

test('a body without an encoding is the same object', () => {
  const body = bodyOf();
  assert.equal(decoded(body, 'identity'), body);
});

test('damaged, truncated and missing bytes are an error, no bytes at all an empty body', async () => {
  const bytes = deflateSync('나루'.repeat(1000));
  await assert.rejects(read(decoded(bodyOf(bytes.subarray(0, -4)), 'deflate')));
  await assert.rejects(read(decoded(bodyOf(Buffer.from('plain words')), 'gzip')));
  assert.equal(await read(decoded(bodyOf(), 'gzip')), '');
});

test('a connection that breaks off in the middle fails the decoded body with its reason', async () => {
  const body = new ByteStream();
  const plain = decoded(body, 'gzip');
  body.push(gzipSync('words').subarray(0, 12));
  const reading = read(plain);
  body.fail(new Error('the line is cut'));
  await assert.rejects(reading, /the line is cut/);
});

// security:26
test('a decompression bomb is aborted, and its connection closed, long before its full size', async () => {
  const body = new ByteStream();
  let closed: Error | null = null;
  body.attach({
    pause() {},
    resume() {},
    cancel: (reason) => {
      closed = reason;
    },
  });
  const plain = decoded(body, 'gzip');
  const member = gzipSync(Buffer.alloc(8 * 1024 * 1024), { level: 1 });
  for (let n = 0; n < 64; n += 1) body.push(member);
  let bytes = 0;
  await assert.rejects(async () => {
    for (let taken = await plain.next(); taken !== null; taken = await plain.next()) bytes += taken.length;
  }, /expands beyond its limit/);
  assert.ok(bytes < 32 * 1024 * 1024, `${bytes} bytes came out`);
  assert.ok(closed !== null, 'the connection is open');
});

test('a body that asks for a window above 8 MiB is rejected, one within it is decoded', async () => {
  for (const [windowLog, isAccepted] of [
    [23, true],
    [24, false],
    [27, false],
  ] as const) {
    const params = { [constants.ZSTD_c_windowLog]: windowLog, [constants.ZSTD_c_contentSizeFlag]: 0 };
    const encoder = createZstdCompress({ params });
    const bytes: Buffer[] = [];
    encoder.on('data', (piece: Buffer) => bytes.push(piece));
    encoder.write('words');
    await new Promise<void>((done) => encoder.flush(constants.ZSTD_e_flush, done));
    encoder.end();
    await once(encoder, 'end');
    const reading = read(decoded(bodyOf(...bytes), 'zstd'));
    if (isAccepted) assert.equal(await reading, 'words');
    else await assert.rejects(reading, /memory/i, `window of 2^${windowLog}`);
  }
});

test('a reader that reads nothing pauses the decoder', async () => {
  const body = new ByteStream();
  let isPaused = false;
  body.attach({
    pause: () => {
      isPaused = true;
    },
    resume: () => {
      isPaused = false;
    },
    cancel() {},
  });
  const plain = decoded(body, 'gzip');
  const line = Buffer.from(Array.from({ length: 4096 }, (_, n) => `${n * 7919}:${n ** 3}`).join(' '));
  const words = Buffer.concat(Array<Buffer>(400).fill(line));
  const bytes = gzipSync(words, { level: 0 });
  for (let at = 0; at < bytes.length; at += 65_536) {
    body.push(bytes.subarray(at, at + 65_536));
    await new Promise(setImmediate);
  }
  assert.ok(isPaused, 'the upstream goes on');
  body.end();
  assert.equal((await read(plain)).length, words.length);
  assert.equal(isPaused, false);
});
