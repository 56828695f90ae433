import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../harness/until.ts';

/** Set by `npm test`: the file in which the checks, which run beside the tests, leave their result. */
const checked = process.env['NARU_TEST_CHECKED'];
/** Biome prints every file that it would format. */
const maxShownCharacters = 4_000;

/** The quick tier runs the type checker only, the full tier all of them. */
test('formatter, linter, type checker and dead-code check find nothing', {
  skip: checked === undefined && 'only the whole npm test runs the checks',
}, async () => {
  if (checked === undefined) return;
  await until('the end of the checks', () => existsSync(checked), 300_000);
  if (readFileSync(checked, 'utf8') === 'clean') return;
  const found = readFileSync(join(import.meta.dirname, '../../.cache/faults.txt'), 'utf8');
  assert.fail(`npm run check found:\n${found.slice(0, maxShownCharacters)}`);
});
