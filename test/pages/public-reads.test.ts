import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PublicReads } from '../../src/pages/public-reads.ts';

test('a question is put once a minute, by whomever and however often', async () => {
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

test('no more than 250 answers are kept', async () => {
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
