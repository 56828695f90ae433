import assert from 'node:assert/strict';
import { test } from 'node:test';
import { counted } from '../../src/errors/counted.ts';

test('a number is followed by the singular only when it is one', () => {
  assert.equal(counted(1, 'account'), '1 account');
  assert.equal(counted(1n, 'entry', 'entries'), '1 entry');
  for (const n of [0, 2, 11, 21, 1_000, -1, 0n, 2n]) {
    assert.equal(counted(n, 'account'), `${n} accounts`);
    assert.equal(counted(n, 'entry', 'entries'), `${n} entries`);
  }
});
