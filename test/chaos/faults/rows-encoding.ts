/** Content encodings that were not requested. */
import {
  brotliCompressSync,
  constants,
  createGzip,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';
import { both, broken, type Fault, type FaultClass, failed, responds, silent, streamed } from './fault.ts';
import {
  contentChunk,
  done,
  either,
  framed,
  head,
  payload,
  response,
  role,
  sends,
  stop,
  story,
  streamHead,
  used,
} from './payloads.ts';
import type { Act } from './wire.ts';

const korean = '나루터에서 배를 탄다 🛶👩‍👩‍👧‍👦 끝';
const encoded = (encoding: string, body: Buffer): Act =>
  sends(response(body, 200, `content-encoding: ${encoding}`));
const encodedStream = (encoding: string, body: Buffer): Act =>
  sends(response(body, 200, 'content-type: text/event-stream', `content-encoding: ${encoding}`));
const inBoth = (encoding: string, encode: (bytes: Buffer) => Buffer): Act =>
  either(
    encoded(encoding, encode(Buffer.from(JSON.stringify(payload(korean))))),
    encodedStream(encoding, encode(Buffer.from(story(korean)))),
  );
const brotli = (bytes: Buffer): Buffer =>
  brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } });
const beginning = role + contentChunk();

/** The first words, flushed, and the rest of the same gzip stream. */
function flushed(then: string): Promise<readonly [Buffer, Buffer]> {
  const gzip = createGzip();
  return new Promise((resolve) => {
    const pieces: Buffer[] = [];
    let first: Buffer | null = null;
    gzip.on('data', (piece: Buffer) => pieces.push(piece));
    gzip.write(beginning);
    gzip.flush(constants.Z_SYNC_FLUSH, () => {
      first = Buffer.concat(pieces.splice(0));
      gzip.end(then);
    });
    gzip.on('end', () => resolve([first ?? Buffer.alloc(0), Buffer.concat(pieces)]));
  });
}

const gzipStreamHead = streamHead.replace('\r\n\r\n', '\r\ncontent-encoding: gzip\r\n\r\n');
let made: Buffer | null = null;
/** Half a gigabyte of blanks in half a megabyte: a gzip body may have many members. */
function bomb(): Buffer {
  made ??= Buffer.concat(Array<Buffer>(64).fill(gzipSync(Buffer.alloc(8 * 1024 * 1024, ' '), { level: 1 })));
  return made;
}

export const encodings: FaultClass = {
  name: 'encodings that were not requested',
  faults: [
    ...Object.entries({
      gzip: gzipSync,
      'x-gzip': gzipSync,
      GZIP: gzipSync,
      deflate: deflateSync,
      br: brotli,
      zstd: zstdCompressSync,
    }).map(
      ([encoding, encode]): Fault => ({
        name: encoding,
        act: inBoth(encoding, encode),
        ...both(responds(korean)),
      }),
    ),
    {
      name: 'deflate without its wrapper',
      act: inBoth('deflate', deflateRawSync),
      ...both(responds(korean)),
    },
    {
      name: 'br in gzip',
      act: inBoth('br, gzip', (bytes) => gzipSync(brotli(bytes))),
      ...both(responds(korean)),
    },
    { name: 'identity', act: inBoth('identity', (bytes) => bytes), ...both(responds(korean)) },
    { name: 'unknown', act: inBoth('lzma', (bytes) => bytes), ...both(failed(200)) },
    {
      name: 'ten times gzip',
      act: inBoth(Array(10).fill('gzip').join(', '), (bytes) =>
        Array(10)
          .fill(0)
          .reduce<Buffer>((each) => gzipSync(each), bytes),
      ),
      ...both(failed(200)),
    },
    { name: 'gzip that is none', act: inBoth('gzip', (bytes) => bytes), ...both(failed(200)) },
    { name: 'gzip of nothing', act: inBoth('gzip', () => gzipSync('')), ...both(failed(200)) },
    { name: 'gzip, zero bytes', act: inBoth('gzip', () => Buffer.alloc(0)), ...both(failed(200)) },
    {
      name: 'gzip cut short',
      act: inBoth('gzip', (bytes) => gzipSync(bytes).subarray(0, 60)),
      ...both(failed(200)),
    },
    {
      name: 'gzip byte by byte',
      manyTurns: true,
      act: either(
        async (wire) => {
          const body = gzipSync(JSON.stringify(payload(korean)));
          await wire.send(head(200, 'content-encoding: gzip', `content-length: ${body.length}`));
          await wire.drip(body);
        },
        async (wire) => {
          const body = gzipSync(story(korean));
          await wire.send(
            head(
              200,
              'content-type: text/event-stream',
              'content-encoding: gzip',
              `content-length: ${body.length}`,
            ),
          );
          await wire.drip(body);
        },
      ),
      ...both(responds(korean)),
    },
    {
      name: 'gzip, flushed, then corrupt',
      act: async (wire) => {
        const [first] = await flushed(stop);
        await wire.send(gzipStreamHead);
        await wire.send(framed(first));
        await wire.wait(30);
        await wire.send(framed(Buffer.alloc(300, 0xff)));
        await wire.hang();
      },
      ...streamed(broken()),
    },
    {
      name: 'gzip, flushed, then cut',
      act: async (wire) => {
        const [first] = await flushed(stop);
        await wire.send(gzipStreamHead);
        await wire.send(framed(first));
        await wire.wait(30);
        wire.fin();
      },
      ...streamed(broken()),
    },
    {
      name: 'gzip, flushed, then silence',
      act: async (wire) => {
        const [first] = await flushed(stop);
        await wire.send(gzipStreamHead);
        await wire.send(framed(first));
        await wire.hang();
      },
      takes: ['idle', 'firstByte'],
      ...streamed(silent()),
    },
    {
      name: 'gzip, flushed, then the rest',
      act: async (wire) => {
        const [first, rest] = await flushed(stop + used() + done);
        await wire.send(gzipStreamHead);
        await wire.send(framed(first));
        await wire.wait(50);
        await wire.send(Buffer.concat([framed(rest), Buffer.from('0\r\n\r\n')]));
      },
      ...both(responds()),
    },
    {
      name: 'a bomb of 512 MiB',
      heavy: true,
      act: either(
        (wire) => encoded('gzip', bomb())(wire),
        (wire) => encodedStream('gzip', bomb())(wire),
      ),
      ...both(failed(200)),
    },
    {
      name: 'a bomb after the first words',
      heavy: true,
      act: async (wire) => {
        await wire.send(head(200, 'content-type: text/event-stream', 'content-encoding: gzip'));
        await wire.send(Buffer.concat([gzipSync(role + contentChunk()), bomb()]));
        await wire.hang();
      },
      ...streamed(broken()),
    },
  ],
};
