import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

/** Set by `npm test`, which has run the checks by now; a run of single files has not. */
const checked = process.env['NARU_TEST_CHECKED'];
/** Biome prints every file that it would format. */
const maxShownCharacters = 4_000;

/** The quick tier runs the type checker only, the full tier all of them. */
test('formatter, linter, type checker and dead-code check find nothing', {
  skip: checked === undefined && 'only the whole npm test runs the checks',
}, () => {
  if (checked === 'clean') return;
  const found = readFileSync(join(import.meta.dirname, '../../.cache/faults.txt'), 'utf8');
  assert.fail(`npm run check found:\n${found.slice(0, maxShownCharacters)}`);
});
