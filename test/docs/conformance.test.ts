import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  assertions,
  conformanceDocument,
  conformanceFile,
  holdingTests,
  waitingAssertions,
} from '../../scripts/conformance.ts';

test('every assertion of the specification is held by a test, or waits for what does not exist yet', () => {
  const stated = assertions();
  assert.equal(stated.size, 262);
  const held = new Set(holdingTests().flatMap((each) => each.numbers));
  assert.deepEqual(
    [...stated.keys()].filter((number) => !held.has(number)),
    [...waitingAssertions.keys()],
  );
  assert.deepEqual(
    [...held].filter((number) => !stated.has(number)),
    [],
  );
});

test('docs/conformance.md names each of those tests, and no other', () => {
  const written = readFileSync(conformanceFile, 'utf8');
  assert.equal(
    written,
    conformanceDocument(holdingTests()),
    'run `node scripts/conformance.ts` with the Node of the project',
  );
});
