import assert from 'node:assert/strict';
import { test } from 'node:test';

/** Set by `npm test`, which has run the checks by now; a run of single files has not. */
const checked = process.env['NARU_TEST_CHECKED'];

test('formatter, linter, type checker and dead-code check find nothing', {
  skip: checked === undefined && 'only the whole npm test runs the checks',
}, () => {
  assert.equal(checked, 'clean', 'what they found stands above the tests; npm run check shows it again');
});
