import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anything, asyncProperty, assert as check, integer, string } from 'fast-check';
import { believe } from '../../src/inference/believe.ts';
import { countTexts, leastTokens } from '../../src/inference/count-tokens.ts';
import { readAsk } from '../../src/inference/read.ts';
import type { Ask, UsageClaim } from '../../src/wire/chat.ts';

const prompt = 'What is a ferry, and where does one cross the river?';
const answer = 'A ferry is a ship that crosses a river.';
const ask: Ask = readAsk(
  'chat',
  Buffer.from(JSON.stringify({ model: 'a/b', messages: [{ role: 'user', content: prompt }] })),
  null,
);
const received = { texts: [answer], mostHiddenTokens: 0 };

function claim(promptTokens: unknown, completionTokens: unknown, more: Partial<UsageClaim> = {}): UsageClaim {
  return {
    promptTokens,
    completionTokens,
    reasoningTokens: undefined,
    cacheReadTokens: undefined,
    cacheWriteTokens: undefined,
    ...more,
  };
}

//
test('a plausible claim is believed to the token', async () => {
  assert.deepEqual(await believe(claim(14, 9), ask, received), {
    usage: {
      promptTokens: 14,
      completionTokens: 9,
      reasoningTokens: 0,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
    },
    source: 'upstream',
  });
});

//
test('whatever is claimed, what is billed is whole, not negative, and at most one and a half times our count and 64', async () => {
  const ownPrompt = await countTexts([prompt]);
  const ownAnswer = await countTexts([answer]);
  await check(
    asyncProperty(anything(), anything(), anything(), anything(), async (a, b, c, d) => {
      const { usage } = await believe(
        claim(a, b, { reasoningTokens: c, cacheReadTokens: d, cacheWriteTokens: a }),
        ask,
        received,
      );
      for (const count of Object.values(usage)) assert.ok(Number.isSafeInteger(count) && count >= 0);
      assert.ok(usage.promptTokens >= 1 && usage.promptTokens <= 1.5 * (ownPrompt + 8) + 64);
      assert.ok(usage.completionTokens >= 1 && usage.completionTokens <= 1.5 * ownAnswer + 64);
      assert.ok(usage.reasoningTokens <= usage.completionTokens);
      assert.ok(usage.cacheReadTokens + usage.cacheWriteTokens <= usage.promptTokens);
    }),
    { numRuns: 300 },
  );
});

//
test('an absurd claim is cut down and said to be', async () => {
  const { usage, source } = await believe(claim(1e9, 1e9), ask, received);
  assert.equal(source, 'clamped');
  assert.ok(usage.promptTokens < 200 && usage.completionTokens < 200);
});

test('thoughts that were not shown may be billed where the model reasons, up to its longest completion', async () => {
  const thinking = { texts: [answer], mostHiddenTokens: 1000 };
  const { usage, source } = await believe(claim(14, 900, { reasoningTokens: 890 }), ask, thinking);
  assert.deepEqual([usage.completionTokens, usage.reasoningTokens, source], [900, 890, 'upstream']);
  const most = await believe(claim(14, 5000, { reasoningTokens: 4990 }), ask, thinking);
  assert.equal(most.source, 'clamped');
  assert.ok(most.usage.completionTokens <= 1000 + 1.5 * 10 + 64);
});

test('nothing said is nothing, claimed or not', async () => {
  const silent = { texts: [''], mostHiddenTokens: 0 };
  assert.equal((await believe(claim(14, 0), ask, silent)).usage.completionTokens, 0);
  assert.equal((await believe(null, ask, silent)).usage.completionTokens, 0);
});

test('the cheap bound is never above the count', async () => {
  await check(
    asyncProperty(string({ unit: 'binary' }), string(), integer({ min: 1, max: 5 }), async (a, b, times) => {
      const texts = [`${a} ${b} 나루 ferry\n`.repeat(times)];
      assert.ok(leastTokens(texts) <= (await countTexts(texts)), JSON.stringify(texts));
    }),
    { numRuns: 300 },
  );
});
