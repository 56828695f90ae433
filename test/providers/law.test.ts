import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byTier, testSeed } from '../harness/tier.ts';
import { apis, judge } from './judge.ts';
import { checkLaw } from './law.ts';

test('every conversation is one that its API accepts, and nothing of it is lost in silence', async () => {
  const { accepted, leftOut } = await checkLaw(byTier(1_000, 20_000), testSeed);
  assert.ok(leftOut * 20 < accepted, `${leftOut} left out, ${accepted} sent`);
});

test('each API rejects what it does not know', () => {
  for (const api of apis) {
    const reason = judge(api, JSON.stringify({ model: 'm', messages: 'none', contents: 'none' }));
    if (!['deepseek', 'moonshot', 'xai', 'generic'].includes(api)) assert.notEqual(reason, null, api);
  }
});
