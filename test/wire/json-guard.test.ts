import assert from 'node:assert/strict';
import { test } from 'node:test';
import { array, constantFrom, integer, json, property } from 'fast-check';
import { bodyLimits, isHostile, JsonGuard, type JsonLimits } from '../../src/wire/json-guard.ts';
import { check } from '../harness/property.ts';

/** A guard's result for bytes that arrive in these pieces. */
function judge(
  text: string | Buffer,
  limits: Partial<JsonLimits> = {},
  cuts: readonly number[] = [],
): string | null {
  const bytes = Buffer.from(text);
  const guard = new JsonGuard({ ...bodyLimits, ...limits });
  const positions = [0, ...cuts.filter((cut) => cut <= bytes.length).sort((a, b) => a - b), bytes.length];
  for (const [at, end] of positions.slice(1).entries()) {
    const fault = guard.push(bytes.subarray(positions[at], end));
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

test('the guard measures exactly the depth and the parts that JSON.parse sees, wherever the bytes are cut', () => {
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

/** The distinct sequences of names that objects of a value begin with. */
function shapesOf(value: unknown, found = new Set<string>()): Set<string> {
  if (typeof value !== 'object' || value === null) return found;
  if (!Array.isArray(value)) {
    const names = Object.keys(value);
    for (const at of names.keys()) found.add(JSON.stringify(names.slice(0, at + 1)));
  }
  for (const inner of Object.values(value)) shapesOf(inner, found);
  return found;
}

test('the guard counts every sequence of names once, wherever the bytes are cut', () => {
  check(
    property(json({ maxDepth: 6 }), array(integer({ min: 0, max: 300 })), (text, cuts) => {
      const plain = JSON.stringify(JSON.parse(text));
      const shapes = shapesOf(JSON.parse(plain)).size;
      assert.equal(judge(plain, { shapes }, cuts), null);
      if (shapes > 0) assert.equal(judge(plain, { shapes: shapes - 1 }, cuts), 'too_many_shapes');
      assert.equal(judge(`[${plain},${plain}]`, { shapes }, cuts), null, 'a second time they cost nothing');
    }),
    { numRuns: 500 },
  );
});

test('names are distinguished in every encoding and order', () => {
  const alike = ['{"a":1,"b":1}', '{"ab":1}', '{"b":1,"a":1}', '{"a":{"b":1}}', '{"a,b":1}', '{"":1,"a":1}'];
  assert.equal(judge(`[${alike.join()}]`, { shapes: 8 }), null);
  assert.equal(judge(`[${alike.join()}]`, { shapes: 7 }), 'too_many_shapes');
});

test('the guard counts an escape that is written again, a lone surrogate as six, wherever the bytes are cut', () => {
  const units = [0x22, 0x5c, 0x0a, 0x01, 0x1f, 0x2f, 0x41, 0xd55c, 0xd83d, 0xde00, 0xdbff, 0xdc00, 0xe000];
  const piece = constantFrom(
    ...units.flatMap((unit) => {
      const hex = unit.toString(16).padStart(4, '0');
      return [`\\u${hex}`, `\\u${hex.toUpperCase()}`];
    }),
    ...['\\"', '\\\\', '\\/', '\\n', 'x', '한', '😀', 'y'.repeat(100)],
  );
  check(
    property(array(piece, { maxLength: 12 }), array(integer({ min: 0, max: 300 })), (pieces, cuts) => {
      const text = `["${pieces.join('')}"]`;
      const written = JSON.stringify(JSON.parse(text));
      const found = [...written.matchAll(/\\(u[dD][0-9a-f]{3}|.)/g)];
      const escapes = found.reduce((sum, [, what = '']) => sum + (what.length > 1 ? 6 : 1), 0);
      assert.equal(judge(text, { escapes }, cuts), null, text);
      if (escapes > 0) assert.equal(judge(text, { escapes: escapes - 1 }, cuts), 'too_many_escapes', text);
    }),
    { numRuns: 1_000 },
  );
});

test('string contents do not count as structure, escaped quotes and cut escapes included', () => {
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

// spec:errors/5.5
test('hostile shapes are rejected after their first part, ordinary large ones are not', () => {
  assert.equal(judge('['.repeat(129)), 'too_deep');
  assert.equal(judge(`${'['.repeat(128)}${']'.repeat(128)}`), null);
  assert.equal(judge('{},'.repeat(130_000)), 'too_many_parts');
  assert.equal(
    judge(`{${Array.from({ length: 249_000 }, (_, n) => `"k${n}":1`).join()}}`),
    'too_many_shapes',
  );
  assert.equal(judge(`[${Array.from({ length: 150_001 }, (_, n) => `"s${n}"`).join()}]`), 'too_many_parts');
  assert.equal(judge(`[${Array.from({ length: 240_000 }, (_, n) => `${n}`).join()}]`), null);
  assert.equal(judge(`{"a":"${'\\"'.repeat(12_000_000)}"}`), 'too_many_escapes');
  assert.equal(judge(`{"a":"${'\\ud55c'.repeat(4_000_000)}"}`), null);
  assert.equal(judge(`{"a":"${'[{,'.repeat(8_000_000)}"}`), null);
  assert.equal(
    judge(
      JSON.stringify(Array.from({ length: 4000 }, (_, n) => ({ role: 'user', content: `message, ${n}` }))),
    ),
    null,
  );
});

test('escapes cost the same in one piece and byte by byte, whether they are valid or not', () => {
  const bits = constantFrom(
    ...[
      '\\ud55c',
      '\\uD83D',
      '\\ude00',
      '\\u0022',
      '\\u005C',
      '\\u0001',
      '\\u',
      '\\u1',
      '\\uzz"x',
      '\\u\\\\\\\\',
    ],
    ...['\\"', '\\\\', '\\n', '\\/', 'x', '한', '"', ':', ',', '{', '}'],
  );
  check(
    property(array(bits, { maxLength: 60 }), (parts) => {
      const bytes = Buffer.from(`{"a":"${parts.join('')}`);
      const whole = new JsonGuard();
      const single = new JsonGuard();
      const fault = whole.push(bytes);
      let slowFault: string | null = null;
      for (let at = 0; at < bytes.length && slowFault === null; at += 1)
        slowFault = single.push(bytes.subarray(at, at + 1));
      assert.equal(fault, slowFault);
      if (fault === null) assert.equal(whole.parseMs, single.parseMs);
    }),
  );
});

test('a text is hostile exactly when the guard rejects it, also where only its depth is looked at', () => {
  const bits = constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '\\\\',
    '\\"',
    '"a":',
    '"",',
    '1',
    '한',
    '\\ud800',
  );
  const tight = constantFrom('depth', 'parts', 'strings', 'shapes', 'escapes');
  check(
    property(array(bits, { maxLength: 60 }), tight, integer({ min: 0, max: 12 }), (parts, name, limit) => {
      const text = parts.join('');
      const ample = { depth: 1_000, parts: 1_000, strings: 1_000, shapes: 1_000, escapes: 1_000 };
      const limits = { ...ample, [name]: limit };
      assert.equal(isHostile(text, limits), judge(text, limits) !== null, JSON.stringify({ text, limits }));
    }),
    { numRuns: 5_000 },
  );
});

test('the shortest text with one too many of anything is hostile', () => {
  const ample = { depth: 1_000, parts: 1_000, strings: 1_000, shapes: 1_000, escapes: 1_000 };
  for (const limit of [1, 20, 100]) {
    assert.ok(isHostile('['.repeat(limit + 1), { ...ample, depth: limit }));
    assert.ok(isHostile(','.repeat(limit + 1), { ...ample, parts: limit }));
    assert.ok(isHostile('""'.repeat(limit + 1), { ...ample, strings: limit }));
    assert.ok(isHostile(`{${'"",'.repeat(limit + 1)}`, { ...ample, shapes: limit }));
    assert.ok(isHostile(`"${'\\"'.repeat(limit + 1)}`, { ...ample, escapes: limit }));
  }
  assert.ok(isHostile(']]]{[', { ...ample, depth: 1 }));
});
