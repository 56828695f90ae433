import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  conformanceDocument,
  conformanceFile,
  conformanceRows,
  holdingTests,
  waitingRows,
} from '../../scripts/conformance.ts';

test('every row of the conformance checklist is held by a test, or waits for what does not exist yet', () => {
  const held = new Set(holdingTests().flatMap((each) => each.rows));
  const rows = Array.from({ length: conformanceRows }, (_, index) => index + 1);
  assert.deepEqual(
    rows.filter((row) => !held.has(row)),
    [...waitingRows.keys()],
  );
  assert.deepEqual(
    [...held].filter((row) => row < 1 || row > conformanceRows),
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
