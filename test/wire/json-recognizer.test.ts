import assert from 'node:assert/strict';
import { test } from 'node:test';
import { array, constantFrom, json, oneof, property, string, tuple } from 'fast-check';
import { JsonRecognizer } from '../../src/wire/json-recognizer.ts';
import { check } from '../harness/property.ts';

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The parts of which JSON is made, complete or not, and some that it never has. */
const part = oneof(
  constantFrom(...'{}[]:,"\\ \n\t\r\b0123456789.-+eEutrfn/'),
  constantFrom(
    ...['true', 'false', 'null', '"a"', '"a":', '\\u12aF', '\\"', '-0', '1e5', '\u2028', '나', "'"],
  ),
);
const text = oneof(
  json(),
  json({ maxDepth: 5 }),
  array(part, { maxLength: 12 }).map((parts) => parts.join('')),
  string({ unit: 'binary' }).map((one) => JSON.stringify([one])),
  // A value with a part in its middle.
  tuple(json(), part).map(([one, other]) => one.slice(0, one.length / 2) + other + one.slice(one.length / 2)),
);

test('a text is complete where JSON.parse takes it, at each of its prefixes', () => {
  check(
    property(text, (whole) => {
      const recognizer = new JsonRecognizer();
      for (let length = 0; length <= whole.length; length += 1) {
        if (length > 0) recognizer.push(whole[length - 1] ?? '');
        const prefix = whole.slice(0, length);
        assert.equal(recognizer.isComplete, isJson(prefix), JSON.stringify(prefix));
      }
    }),
    { numRuns: 1_000 },
  );
});

test('the result does not depend on how a text is divided', () => {
  check(
    property(array(text, { maxLength: 4 }), (pieces) => {
      const recognizer = new JsonRecognizer();
      for (const piece of pieces) recognizer.push(piece);
      assert.equal(recognizer.isComplete, isJson(pieces.join('')));
    }),
    { numRuns: 1_000 },
  );
});

test('a value that is nested deeper than any arguments is not complete', () => {
  const recognizer = new JsonRecognizer();
  recognizer.push('['.repeat(10_001) + ']'.repeat(10_001));
  assert.equal(recognizer.isComplete, false);
});
