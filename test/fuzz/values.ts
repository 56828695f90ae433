import { between, type Random } from '../chaos/orders.ts';
import type { Schema } from './document.ts';

/** One of them. */
export function pick<T>(random: Random, from: readonly T[]): T {
  const one = from[Math.floor(random() * from.length)];
  if (one === undefined) throw new Error('nothing to pick from');
  return one;
}

/** Whether this time, with a probability of so many in a hundred. */
export function chance(random: Random, percent: number): boolean {
  return random() * 100 < percent;
}

/**
 * Values that a member of this name probably accepts; what the schema alone cannot state, such as
 * existing ids.
 */
export type Known = (name: string, random: Random) => unknown;

/** A value that the schema allows. Optional members are rare, free-form ones rarer. */
export function validValue(random: Random, stated: Schema, known: Known, name = ''): unknown {
  const schema = withAnyOf(stated);
  const fitting = known(name, random);
  if (fitting !== undefined && schema.type !== 'array' && schema.anyOf === undefined) return fitting;
  if (schema.anyOf !== undefined) return validValue(random, pick(random, schema.anyOf), known, name);
  if (typeof schema.type === 'object')
    return validValue(random, { ...schema, type: pick(random, schema.type) }, known, name);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return pick(random, schema.enum);
  if (schema.examples !== undefined) return pick(random, schema.examples);
  switch (schema.type) {
    case 'string':
      return validString(random, schema);
    case 'integer':
    case 'number':
      return validNumber(random, schema);
    case 'boolean':
      return chance(random, 50);
    case 'null':
      return null;
    case 'array': {
      const least = schema.minItems ?? 0;
      const length = Math.min(schema.maxItems ?? 4, between(random, least, least + 3));
      return Array.from({ length }, () => validValue(random, schema.items ?? {}, known, name));
    }
    case 'object':
      return validObject(random, schema, known);
    default:
      return pick(random, ['x', 1, {}, []]);
  }
}

/** A value of one of several schemas is drawn in one way, whether it may fit several of them. */
function withAnyOf(schema: Schema): Schema {
  return schema.oneOf === undefined ? schema : { ...schema, anyOf: schema.oneOf };
}

function validObject(random: Random, schema: Schema, known: Known): object {
  const required = new Set(schema.required ?? []);
  const members = Object.entries(schema.properties ?? {}).filter(([name, member]) => {
    if (required.has(name)) return true;
    // The catalogue decides what is offered: without a model there is no request.
    if (name === 'model') return chance(random, 97);
    if (name === 'content') return chance(random, 95);
    return chance(random, isFree(member) ? 1.5 : 12);
  });
  return Object.fromEntries(members.map(([name, member]) => [name, validValue(random, member, known, name)]));
}

/** Whether a schema hardly restricts its values. */
function isFree(stated: Schema): boolean {
  const schema = withAnyOf(stated);
  if (typeof schema.type === 'object') return schema.type.some((type) => isFree({ ...schema, type }));
  if (schema.anyOf !== undefined) return schema.anyOf.some(isFree);
  return (
    (schema.type === 'object' && schema.properties === undefined) ||
    (schema.type === undefined && schema.enum === undefined && schema.const === undefined) ||
    (schema.type === 'array' && isFree(schema.items ?? {}))
  );
}

function validString(random: Random, schema: Schema): string {
  if (schema.format === 'date-time') return '2099-12-31T23:59:59+09:00';
  if (schema.format === 'date' || schema.pattern?.includes('\\d{4}')) return '2026-06-30';
  const text = pick(random, [
    'hello',
    '안녕하세요',
    'a',
    'río 🌊',
    'two words',
    `n${between(random, 0, 1e6)}`,
  ]);
  return text.slice(0, schema.maxLength ?? text.length);
}

function validNumber(random: Random, schema: Schema): number {
  const least = schema.minimum ?? -1000;
  const most = Math.min(schema.maximum ?? 1000, Number.MAX_SAFE_INTEGER);
  const edge = chance(random, 15);
  const value = edge ? pick(random, [least, most]) : least + random() * (Math.min(most, least + 4) - least);
  return schema.type === 'integer' ? Math.round(value) : Number(value.toFixed(3));
}

/** Values that break some parsers. */
export function hostileValue(random: Random): unknown {
  const make = pick(random, [
    () => pick(random, numbers),
    () => pick(random, strings),
    () => pick(random, strings),
    () => 'x'.repeat(pick(random, [501, 4096, 70_000])),
    () =>
      pick<unknown>(random, [
        null,
        true,
        false,
        {},
        [],
        [[]],
        [null],
        { '': 0 },
        { length: -1 },
        { toString: 1 },
      ]),
    () => nested(pick(random, [5, 100, 126, 129])),
    () => Array.from({ length: pick(random, [17, 1000]) }, (_, n) => n),
    () => Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`k${n}`, n])),
    () => JSON.parse('{"__proto__":{"isAdmin":true},"constructor":{"prototype":{"polluted":1}}}'),
  ]);
  return make();
}

function nested(depth: number): unknown {
  let value: unknown = 'deep';
  for (let at = 0; at < depth; at += 1) value = at % 2 === 0 ? [value] : { a: value };
  return value;
}

const numbers: readonly number[] = [
  0,
  -0,
  -1,
  1,
  0.1 + 0.2,
  1e-7,
  1e15,
  1e15 + 1,
  2 ** 31,
  2 ** 32,
  2 ** 53,
  2 ** 63,
  -(2 ** 63),
  1e21,
  1e308,
  5e-324,
  129,
  21,
];

/** Texts that have broken real services. */
export const strings: readonly string[] = [
  '',
  ' ',
  '\t\r\n',
  '\0',
  'a\0b',
  '\ud800',
  'x\udfff',
  '\ufeff',
  '\ufffe\uffff',
  '\u202eevil',
  'é'.normalize('NFD').repeat(50),
  '👩‍👩‍👧‍👦'.repeat(20),
  'null',
  'undefined',
  'NaN',
  '[object Object]',
  '__proto__',
  'constructor',
  'hasOwnProperty',
  "' OR 1=1 --",
  "'; DROP TABLE ledger; --",
  '{{7*7}}',
  '<script>alert(1)</script>',
  '../../etc/passwd',
  '%s%n%x',
  '1e400',
  '-1',
  '0x10',
  '９９',
  '9'.repeat(400),
  '\\u0000',
  '\r\nX-Injected: 1',
  'data: [DONE]\n\n',
  '2026-02-30',
  '0000-00-00',
  '+10000-01-01T00:00:00Z',
  '1970-01-01T00:00:00Z',
  'openai/gpt:free',
  'test/echo ',
  'TEST/ECHO',
];
