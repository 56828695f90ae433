import assert from 'node:assert/strict';
import { test } from 'node:test';
import { array, property, uint8Array } from 'fast-check';
import { ByteCollector } from '../../src/wire/byte-collector.ts';
import { check } from '../harness/property.ts';

test('the bytes of a body are those of its pieces, however it is cut, and use about their own size in memory', () => {
  check(
    property(array(uint8Array({ minLength: 1, maxLength: 40_000 }), { maxLength: 30 }), (pieces) => {
      const whole = Buffer.concat(pieces);
      const body = new ByteCollector(1_000_000);
      for (const piece of pieces) body.push(Buffer.from(piece));
      assert.equal(body.length, whole.length);
      assert.ok(body.heldBytes <= Math.max(4_096, 2 * whole.length), `${body.heldBytes} for ${whole.length}`);
      assert.deepEqual(body.take(), whole);
      assert.equal(body.heldBytes, 0);
    }),
  );
});

test('a body in a million pieces of one byte uses one block, which never exceeds a declared length', () => {
  const bytes = 1_000_000;
  const body = new ByteCollector(bytes);
  const piece = Buffer.from('x');
  for (let n = 0; n < bytes; n += 1) body.push(piece);
  assert.equal(body.heldBytes, bytes);
  assert.ok(body.take().every((byte) => byte === 0x78));
});

test('a body that arrives as one piece is not copied', () => {
  const body = new ByteCollector(1_000);
  const piece = Buffer.from('{"a":1}');
  body.push(piece);
  assert.equal(body.take(), piece);
});
