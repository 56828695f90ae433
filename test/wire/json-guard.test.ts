import assert from 'node:assert/strict';
import { test } from 'node:test';
import { json, property } from 'fast-check';
import { bodyLimits, type JsonLimits, shapeFault } from '../../src/wire/json.ts';
import { check } from '../harness/property.ts';

function judge(text: string, limits: Partial<JsonLimits> = {}): string | null {
  return shapeFault(text, { ...bodyLimits, ...limits });
}

/** Nesting of a parsed value, and its objects, arrays and the commas between their members. */
function shapeOf(value: unknown): { depth: number; values: number } {
  if (typeof value !== 'object' || value === null) return { depth: 0, values: 0 };
  const inner = Object.values(value).map(shapeOf);
  return {
    depth: 1 + Math.max(0, ...inner.map(({ depth }) => depth)),
    values: Math.max(0, inner.length - 1) + 1 + inner.reduce((sum, { values }) => sum + values, 0),
  };
}

test('the guard measures exactly the depth and the values that JSON.parse sees', () => {
  check(
    property(json({ maxDepth: 6 }), (text) => {
      // Parsing drops repeated members, so what is judged is written from what was parsed.
      const plain = JSON.stringify(JSON.parse(text));
      const { depth, values } = shapeOf(JSON.parse(plain));
      assert.equal(judge(plain, { depth, values }), null);
      if (depth > 0) assert.equal(judge(plain, { depth: depth - 1, values }), 'too_deep');
      if (values > depth) assert.equal(judge(plain, { depth, values: values - 1 }), 'too_many_values');
    }),
    { numRuns: 500 },
  );
});

test('string contents do not count as structure, escaped quotes included', () => {
  const strings = ['[[[[{{{{,,,,', '\\', '\\\\', '"', '\\"[', '\\\\"', '한\\u005b', '\n\t', '\\\\\\"{'];
  assert.equal(judge(JSON.stringify(strings), { depth: 1, values: strings.length }), null);
  assert.equal(judge('"[[[', { depth: 0, values: 0 }), null, 'a string without an end');
});

test('hostile shapes are rejected, ordinary large ones are not', () => {
  assert.equal(judge('['.repeat(129)), 'too_deep');
  assert.equal(judge(`${'['.repeat(128)}${']'.repeat(128)}`), null);
  assert.equal(judge(']]]{[', { depth: 1 }), 'too_deep');
  assert.equal(judge('{},'.repeat(bodyLimits.values)), 'too_many_values');
  assert.equal(judge(`[${'1,'.repeat(bodyLimits.values)}1]`), 'too_many_values');
  assert.equal(judge(`[${Array.from({ length: 240_000 }, (_, n) => `${n}`).join()}]`), null);
  assert.equal(judge(`{"a":"${'[{,'.repeat(8_000_000)}"}`), null);
  assert.equal(
    judge(
      JSON.stringify(Array.from({ length: 4000 }, (_, n) => ({ role: 'user', content: `message, ${n}` }))),
    ),
    null,
  );
});
