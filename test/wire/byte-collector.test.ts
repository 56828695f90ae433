import assert from 'node:assert/strict';
import { test } from 'node:test';
import { array, property, uint8Array } from 'fast-check';
import { ByteCollector, joined } from '../../src/wire/byte-collector.ts';
import { check } from '../harness/property.ts';

// security:4
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

test('a body in a million pieces of one byte uses a few blocks, together never larger than a declared length', () => {
  const bytes = 1_000_000;
  const body = new ByteCollector(bytes);
  const piece = Buffer.from('x');
  for (let n = 0; n < bytes; n += 1) body.push(piece);
  assert.equal(body.heldBytes, bytes);
  const blocks = body.takeBlocks();
  assert.ok(blocks.length < 15, `${blocks.length} blocks`);
  assert.ok(joined(blocks).every((byte) => byte === 0x78));
});

test('a block never grows: what arrived is not copied again', () => {
  const body = new ByteCollector(26_214_400);
  const piece = Buffer.alloc(65_536, 'x');
  while (body.length < 26_214_400) body.push(piece);
  const sizes = body.takeBlocks().map((block) => block.length);
  assert.equal(Math.max(...sizes), 262_144);
  assert.equal(
    sizes.reduce((sum, size) => sum + size, 0),
    26_214_400,
  );
});

test('a body that arrives as one piece is not copied', () => {
  const body = new ByteCollector(1_000);
  const piece = Buffer.from('{"a":1}');
  body.push(piece);
  assert.equal(body.take(), piece);
});
