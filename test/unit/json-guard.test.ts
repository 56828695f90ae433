import assert from 'node:assert/strict';
import { test } from 'node:test';
import { array, integer, json, property } from 'fast-check';
import { JsonGuard, type JsonLimits } from '../../src/wire/json-guard.ts';
import { check } from '../harness/property.ts';

/** What a guard says of bytes that come in these pieces. */
function judge(text: string | Buffer, limits?: JsonLimits, cuts: readonly number[] = []): string | null {
  const bytes = Buffer.from(text);
  const guard = new JsonGuard(limits);
  const places = [0, ...cuts.filter((cut) => cut <= bytes.length).sort((a, b) => a - b), bytes.length];
  for (const [at, end] of places.slice(1).entries()) {
    const fault = guard.push(bytes.subarray(places[at], end));
    if (fault !== null) return fault;
  }
  return null;
}

/** Nesting of a parsed value, and its objects, arrays and the commas between their members. */
function shapeOf(value: unknown): { depth: number; parts: number } {
  if (typeof value !== 'object' || value === null) return { depth: 0, parts: 0 };
  const inner = Object.values(value).map(shapeOf);
  return {
    depth: 1 + Math.max(0, ...inner.map(({ depth }) => depth)),
    parts: Math.max(0, inner.length - 1) + 1 + inner.reduce((sum, { parts }) => sum + parts, 0),
  };
}

test('the guard sees exactly the depth and the parts that JSON.parse sees, wherever the bytes are cut', () => {
  check(
    property(json({ maxDepth: 6 }), array(integer({ min: 0, max: 300 })), (text, cuts) => {
      // Parsing drops repeated members, so what is judged is written from what was parsed.
      const plain = JSON.stringify(JSON.parse(text));
      const { depth, parts } = shapeOf(JSON.parse(plain));
      assert.equal(judge(plain, { depth, parts }, cuts), null);
      if (depth > 0) assert.equal(judge(plain, { depth: depth - 1, parts }, cuts), 'too_deep');
      if (parts > depth) assert.equal(judge(plain, { depth, parts: parts - 1 }, cuts), 'too_many_parts');
    }),
    { numRuns: 500 },
  );
});

test('what stands in a string is no shape, escaped quotes and cut escapes included', () => {
  const strings = ['[[[[{{{{,,,,', '\\', '\\\\', '"', '\\"[', '\\\\"', '한\\u005b', '\n\t', '\\\\\\"{'];
  const text = JSON.stringify(strings);
  const shape = { depth: 1, parts: strings.length };
  for (let at = 0; at <= Buffer.byteLength(text); at += 1)
    assert.equal(judge(text, shape, [at]), null, `cut at ${at}`);
  assert.equal(
    judge(
      text,
      shape,
      Array.from({ length: Buffer.byteLength(text) }, (_, n) => n),
    ),
    null,
  );
});

// decisions.md §2, step 5
test('hostile shapes are refused after their first part, ordinary large ones are not', () => {
  assert.equal(judge('['.repeat(129)), 'too_deep');
  assert.equal(judge(`${'['.repeat(128)}${']'.repeat(128)}`), null);
  assert.equal(judge('{},'.repeat(130_000)), 'too_many_parts');
  assert.equal(judge(`{"a":"${'[{,'.repeat(8_000_000)}"}`), null);
  assert.equal(
    judge(
      JSON.stringify(Array.from({ length: 4000 }, (_, n) => ({ role: 'user', content: `message, ${n}` }))),
    ),
    null,
  );
});
