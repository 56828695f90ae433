import assert from 'node:assert/strict';
import { test } from 'node:test';
import { array, asyncProperty, boolean, assert as holds, tuple, uint8Array } from 'fast-check';
import { ByteStream } from '../../src/upstreams/byte-stream.ts';

test('the bytes read are the bytes received, however they are cut and whenever they are read', async () => {
  const pieces = array(tuple(uint8Array({ minLength: 1, maxLength: 3_000 }), boolean()), { maxLength: 30 });
  await holds(
    asyncProperty(pieces, async (given) => {
      const stream = new ByteStream();
      const read: Buffer[] = [];
      for (const [piece, isTaken] of given) {
        stream.push(Buffer.from(piece));
        if (isTaken) read.push((await stream.next()) ?? Buffer.alloc(0));
      }
      stream.end();
      for (let taken = await stream.next(); taken !== null; taken = await stream.next()) read.push(taken);
      assert.deepEqual(Buffer.concat(read), Buffer.concat(given.map(([piece]) => piece)));
    }),
  );
});

test('pieces that wait for their reader are read as one', async () => {
  const stream = new ByteStream();
  const network = Buffer.alloc(65_536, 'x');
  for (let at = 0; at < 60_000; at += 1) stream.push(network.subarray(at, at + 1));
  assert.equal((await stream.next())?.length, 60_000);
});

test('streams with much to read take turns of the event loop, and one with little is read at once', async () => {
  const streams = Array.from({ length: 100 }, () => new ByteStream());
  let readBytes = 0;
  const read = async (stream: ByteStream): Promise<void> => {
    for (let taken = await stream.next(); taken !== null; taken = await stream.next())
      readBytes += taken.length;
  };
  const over = streams.map(read);
  for (const stream of streams) for (let n = 0; n < 2; n += 1) stream.push(Buffer.alloc(10_000));
  const small = new ByteStream();
  const first = small.next();
  small.push(Buffer.from('x'));
  assert.equal((await first)?.toString(), 'x');
  let seenBytes = readBytes;
  for (let turn = 0; readBytes < 2_000_000; turn += 1) {
    assert.ok(turn < 50, `${readBytes} bytes in ${turn} turns`);
    await new Promise((resolve) => setImmediate(resolve));
    assert.ok(readBytes - seenBytes < 300_000, `${readBytes - seenBytes} bytes in one turn`);
    seenBytes = readBytes;
  }
  for (const stream of streams) stream.end();
  await Promise.all(over);
});

test('the end of a stream, or its failure, does not wait for a turn, and loses nothing', async () => {
  const streams = Array.from({ length: 40 }, () => new ByteStream());
  const read = streams.map((stream) => stream.next());
  for (const stream of streams) stream.push(Buffer.alloc(10_000));
  for (const [at, stream] of streams.entries()) {
    if (at % 2 === 0) stream.end();
    else stream.fail(new Error('broken'));
  }
  for (const [at, taken] of (await Promise.all(read)).entries()) {
    assert.equal(taken?.length, 10_000);
    if (at % 2 === 0) assert.equal(await streams[at]?.next(), null);
    else await assert.rejects(streams[at]?.next() ?? Promise.resolve(), /broken/);
  }
});

test('a reader that throws fails with its error, and the connection goes on', () => {
  const stream = new ByteStream();
  const defect = new Error('a defect');
  const failed: unknown[] = [];
  const reader = {
    take(): void {
      throw defect;
    },
    fail: (error: unknown) => failed.push(error),
  };
  stream.push(Buffer.from('x'));
  stream.end();
  stream.read(reader);
  stream.read(reader);
  assert.deepEqual(failed, [defect, defect]);
});
