import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PublicReads } from '../../src/pages/public-reads.ts';

test('a query runs once a minute, for all callers together', async () => {
  let nowMs = 0;
  const reads = new PublicReads({ monotonic: () => nowMs });
  let computed = 0;
  const put = (question: string) =>
    reads.once([question], async () => {
      computed += 1;
      return `${question} ${computed}`;
    });
  assert.deepEqual(await Promise.all([put('a'), put('a'), put('b')]), ['a 1', 'a 1', 'b 2']);
  assert.equal(await put('a'), 'a 1');
  nowMs = 60_001;
  assert.equal(await put('a'), 'a 3');
});

test('a failure is not kept', async () => {
  const reads = new PublicReads({ monotonic: () => 0 });
  await assert.rejects(
    reads.once(['a'], () => Promise.reject(new Error('away'))),
    /away/,
  );
  assert.equal(await reads.once(['a'], async () => 'there'), 'there');
});

test('at most 250 results are kept', async () => {
  const reads = new PublicReads({ monotonic: () => 0 });
  let computed = 0;
  const put = (question: number) => reads.once([question], async () => (computed += 1));
  for (let question = 0; question <= 250; question += 1) await put(question);
  assert.equal(computed, 251);
  await put(250);
  assert.equal(computed, 251);
  await put(0);
  assert.equal(computed, 252);
});
