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
        if (isTaken) read.push(...((await stream.next()) ?? []));
      }
      stream.end();
      for (let taken = await stream.next(); taken !== null; taken = await stream.next()) read.push(...taken);
      assert.deepEqual(Buffer.concat(read), Buffer.concat(given.map(([piece]) => piece)));
    }),
  );
});

test('small pieces that wait for their reader are kept as one', async () => {
  const stream = new ByteStream();
  const network = Buffer.alloc(65_536, 'x');
  for (let at = 0; at < 60_000; at += 1) stream.push(network.subarray(at, at + 1));
  const taken = (await stream.next()) ?? [];
  assert.equal(Buffer.concat(taken).length, 60_000);
  assert.equal(taken.length, 1);
});
