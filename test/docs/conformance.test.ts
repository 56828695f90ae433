import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  assertions,
  conformanceDocument,
  conformanceFile,
  holdingTests,
  waitingAssertions,
} from '../../scripts/conformance.ts';

const root = join(import.meta.dirname, '../..');

test('every assertion of the specification is held by a test, or is listed as waiting', () => {
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

test('every assertion that a test holds is held by one of the quick tier', () => {
  const inQuick = holdingTests().filter(({ file, name }) => {
    const text = readFileSync(join(root, file), 'utf8').replaceAll('\\', '');
    const at = text.indexOf(name.replaceAll('\\', ''));
    assert.ok(at > 0, `${file}: ${name}`);
    return !/^.,\s*(?:\{\s*\.\.\.)?fullOnly/.test(text.slice(at + name.length));
  });
  assert.ok(inQuick.length > 100);
  const quick = new Set(inQuick.flatMap(({ numbers }) => numbers));
  const onlyFull = new Set(holdingTests().flatMap(({ numbers }) => numbers.filter((n) => !quick.has(n))));
  assert.deepEqual([...onlyFull], []);
});
