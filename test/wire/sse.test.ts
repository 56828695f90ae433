import assert from 'node:assert/strict';
import { test } from 'node:test';
import { array, constantFrom, integer, property, string } from 'fast-check';
import { maxEventBytes, maxEventLines, SseDecoder, sseEvent } from '../../src/wire/sse.ts';
import { check } from '../harness/property.ts';

/** A decoder's result for bytes that arrive in these pieces. */
function read(bytes: Buffer, cuts: readonly number[] = []): readonly string[] {
  const decoder = new SseDecoder();
  const positions = [0, ...[...cuts].sort((a, b) => a - b), bytes.length];
  const events = positions.slice(1).flatMap((end, at) => decoder.push(bytes.subarray(positions[at], end)));
  return [...events, ...decoder.end()];
}

const text =
  '\ufeff: comment\ndata: {"나루":"👩‍👩‍👧‍👦"}\n\nevent: x\nid: 1\ndata:no space\ndata:  two spaces\n\n\n\ndata\n\ndata: last 한글\n\ndata: [DONE]\n\n';
const events = ['{"나루":"👩‍👩‍👧‍👦"}', 'no space\n two spaces', 'last 한글', '[DONE]'];

// spec:conformance/211
for (const [name, newline] of [
  ['LF', '\n'],
  ['CRLF', '\r\n'],
  ['CR', '\r'],
] as const) {
  test(`a stream with ${name} line ends reads the same however its bytes are cut`, () => {
    const bytes = Buffer.from(text.replaceAll('\n', newline));
    assert.deepEqual(read(bytes), events);
    for (let at = 0; at <= bytes.length; at += 1) assert.deepEqual(read(bytes, [at]), events, `cut at ${at}`);
    assert.deepEqual(read(bytes, Array.from(bytes.keys())), events, 'byte by byte');
    check(
      property(array(integer({ min: 0, max: bytes.length })), (cuts) =>
        assert.deepEqual(read(bytes, cuts), events),
      ),
    );
  });
}

test('encoded events decode to themselves', () => {
  const data = string({ unit: 'grapheme', minLength: 1 }).filter((each) => !/[\r\n\0]/.test(each));
  check(
    property(array(data), array(integer({ min: 0, max: 500 })), (written, cuts) => {
      const bytes = Buffer.from(written.map(sseEvent).join(''));
      assert.deepEqual(
        read(
          bytes,
          cuts.filter((cut) => cut <= bytes.length),
        ),
        written,
      );
    }),
  );
});

test('mixed line endings are accepted', () => {
  check(
    property(
      array(constantFrom('\n', '\r\n', '\r'), { minLength: 8, maxLength: 8 }),
      array(integer({ min: 0, max: 20 })),
      (ends, cuts) => {
        const [a = '', b = '', c = '', d = ''] = ends;
        // A CR before an LF is one line end, so they are kept apart by a comment.
        const bytes = Buffer.from(`data: 1${a}:${b}${b === '\r' ? ':\n' : ''}data: 2${c}:${d}`);
        assert.deepEqual(
          read(
            bytes,
            cuts.filter((cut) => cut <= bytes.length),
          ),
          ['1\n2'],
        );
      },
    ),
  );
});

test('a last event without a blank line is read at the end', () => {
  for (const end of ['', '\n', '\r'])
    assert.deepEqual(read(Buffer.from(`data: a\n\ndata: b${end}`)), ['a', 'b']);
});

test('a line or an event without an end is not buffered without a bound', () => {
  const block = Buffer.alloc(1024 * 1024, 'x');
  const blocks = maxEventBytes / block.length + 1;
  for (const piece of [block, Buffer.from(`data: ${block}\n`)]) {
    const decoder = new SseDecoder();
    for (let n = 0; n < blocks; n += 1) assert.deepEqual(decoder.push(piece), []);
    assert.ok(decoder.isTooLong);
    assert.deepEqual(decoder.push(Buffer.from('\n\ndata: more\n\n')), [], 'nothing is decoded after it');
    assert.deepEqual(decoder.end(), []);
  }
});

test('an event has a maximum of lines, and what it holds is known', () => {
  const decoder = new SseDecoder();
  const lines = Buffer.from('data\n'.repeat(maxEventLines - 1));
  decoder.push(lines);
  decoder.push(Buffer.from('data: {}\n'));
  assert.equal(decoder.heldBytes, maxEventLines + 1, 'as many line ends as lines, and two brackets');
  decoder.push(Buffer.from('\ndata: {'));
  assert.equal(decoder.heldBytes, 'data: {'.length);
  assert.deepEqual(decoder.push(Buffer.from('}\n\n')), ['{}']);
  assert.equal(decoder.heldBytes, 0);
  decoder.push(Buffer.concat([lines, Buffer.from('data\n')]));
  assert.equal(decoder.isTooLong, false);
  decoder.push(Buffer.from('data\n'));
  assert.ok(decoder.isTooLong);
});

test('the events before one that is too long are read, however the bytes are cut', () => {
  const long = Buffer.alloc(maxEventBytes + 1, 'x');
  for (const line of [
    Buffer.concat([Buffer.from('data: '), long]),
    Buffer.concat([Buffer.from(': '), long]),
  ]) {
    const bytes = Buffer.concat([Buffer.from('data: a\n\n'), line, Buffer.from('\n\ndata: b\n\n')]);
    for (const cuts of [[], [9], [100], [bytes.length - 11], [bytes.length - 12, bytes.length - 10]]) {
      const decoder = new SseDecoder();
      const positions = [0, ...cuts, bytes.length];
      const events = positions
        .slice(1)
        .flatMap((end, at) => decoder.push(bytes.subarray(positions[at], end)));
      assert.deepEqual([events, decoder.isTooLong], [['a'], true], `cut at ${cuts}`);
    }
  }
});
