import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anything, asyncProperty, assert as check } from 'fast-check';
import { countTexts } from '../../src/metering/count-tokens.ts';
import { type Received, reconcileUsage } from '../../src/metering/reconcile-usage.ts';
import type { UsageClaim } from '../../src/wire/chat.ts';

const prompt = 'What is a ferry, and where does one cross the river?';
const response = 'A ferry is a ship that crosses a river.';
/** A text for which half of our own count is less than a third of its bytes. */
const many = 'A ferry is a ship that crosses a river. '.repeat(8);

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

/** What is billed for a claim, for a response of `text`. */
function reconcile(stated: UsageClaim | null, more: Partial<Received> & { readonly text?: string } = {}) {
  const { text = response, ...bounds } = more;
  const received = {
    textBytes: Buffer.byteLength(text),
    choices: 1,
    maxPromptTokens: prompt.length + 64 + 1_024,
    maxUnseenTokens: 0,
    maxHiddenTokens: 0,
    ...bounds,
  };
  return reconcileUsage(stated, received, {
    prompt: () => countTexts([prompt]),
    completion: () => countTexts([text]),
  });
}

/** Our own count of everything. */
async function ownOf(text: string) {
  return {
    promptTokens: await countTexts([prompt]),
    completionTokens: await countTexts([text]),
    reasoningTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    cacheWrite1hTokens: 0,
  };
}

// spec:money/4.8
test('plausible reported usage is accepted to the token', async () => {
  const { usage, source } = await reconcile(
    claim(14, 9, { cacheReadTokens: 10, cacheWriteTokens: 4, cacheWrite1hTokens: 3 }),
  );
  assert.equal(source, 'upstream');
  assert.deepEqual(usage, {
    promptTokens: 14,
    completionTokens: 9,
    reasoningTokens: 0,
    cacheReadTokens: 10,
    cacheWriteTokens: 4,
    cacheWrite1hTokens: 3,
  });
});

// spec:money/4.8
test('for any reported usage the billed one is whole, not negative, and within the bounds', async () => {
  await check(
    asyncProperty(anything(), anything(), anything(), anything(), async (a, b, c, d) => {
      const stated = claim(a, b, {
        reasoningTokens: c,
        cacheReadTokens: d,
        cacheWriteTokens: a,
        cacheWrite1hTokens: c,
      });
      const { usage } = await reconcile(stated);
      for (const count of Object.values(usage)) assert.ok(Number.isSafeInteger(count) && count >= 0);
      assert.ok(usage.promptTokens >= 1 && usage.promptTokens <= prompt.length + 64 + 1_024);
      assert.ok(usage.completionTokens >= 1 && usage.completionTokens <= response.length + 64);
      assert.ok(usage.reasoningTokens <= usage.completionTokens);
      assert.ok(usage.cacheReadTokens + usage.cacheWriteTokens <= usage.promptTokens);
      assert.ok(usage.cacheWrite1hTokens <= usage.cacheWriteTokens);
    }),
    { numRuns: 300 },
  );
});

// spec:money/4.9
test('a claim that is refused is refused as a whole: it decides no share of the bill', async () => {
  const own = await ownOf(response);
  const shares = { cacheReadTokens: 12, cacheWriteTokens: 2, reasoningTokens: 3 };
  for (const [promptTokens, completionTokens] of [
    [1e9, 1e9],
    [1e308, 9],
    [14, 1e308],
    [1e308, 0],
    [prompt.length + 64 + 1_025, 9],
    [14, response.length + 65],
  ])
    assert.deepEqual(
      await reconcile(claim(promptTokens, completionTokens, shares)),
      { usage: own, source: 'rejected' },
      `${promptTokens}, ${completionTokens}`,
    );
  for (const none of [0, -1, 1.5, Number.NaN, '14', null, undefined])
    for (const counts of [
      [none, 9],
      [14, none],
      [none, none],
    ])
      assert.deepEqual(await reconcile(claim(counts[0], counts[1], shares)), {
        usage: own,
        source: 'counted',
      });
});

// spec:money/4.9
test('a claim of more cached tokens than prompt tokens is refused', async () => {
  const own = await ownOf(response);
  for (const cached of [{ cacheReadTokens: 15 }, { cacheReadTokens: 8, cacheWriteTokens: 7 }])
    assert.deepEqual(await reconcile(claim(14, 9, cached)), { usage: own, source: 'rejected' });
});

// spec:money/4.8
test('hidden reasoning may be billed if the model reasons, up to its maximum completion', async () => {
  const thinking = { maxHiddenTokens: 1000 };
  const { usage, source } = await reconcile(claim(14, 900, { reasoningTokens: 890 }), thinking);
  assert.deepEqual([usage.completionTokens, usage.reasoningTokens, source], [900, 890, 'upstream']);
  const most = await reconcile(claim(14, 5000, { reasoningTokens: 4990 }), thinking);
  assert.equal(most.source, 'rejected');
  assert.equal(most.usage.completionTokens, await countTexts([response]));
});

// spec:money/4.10
test('reasoning that the total shows beside the completion is added to it, other reasoning is inside', async () => {
  for (const [totalTokens, completion] of [
    [14 + 9 + 800, 809],
    [14 + 9, 9],
    [undefined, 9],
  ] as const) {
    const stated = claim(14, 9, { totalTokens, reasoningTokens: 800 });
    const { usage, source } = await reconcile(stated, { maxHiddenTokens: 1000 });
    assert.deepEqual([usage.completionTokens, source], [completion, 'upstream'], `total ${totalTokens}`);
    assert.equal(usage.reasoningTokens, Math.min(800, completion));
  }
});

// spec:money/4.8
test('a claim for several choices is not believed below a third of our own count', async () => {
  const own = await ownOf(many);
  const least = Math.ceil(own.completionTokens / 3);
  for (const [tokens, source] of [
    [1, 'rejected'],
    [least - 1, 'rejected'],
    [least, 'upstream'],
    [own.completionTokens, 'upstream'],
  ] as const) {
    const several = await reconcile(claim(14, tokens), { text: many, choices: 4 });
    assert.equal(several.source, source, `${tokens} tokens`);
    assert.equal(several.usage.completionTokens, source === 'upstream' ? tokens : own.completionTokens);
    assert.equal((await reconcile(claim(14, tokens), { text: many })).source, 'upstream');
  }
});

test('an empty response counts as nothing, whatever is reported', async () => {
  assert.equal((await reconcile(claim(14, 0), { text: '' })).usage.completionTokens, 0);
  assert.equal((await reconcile(null, { text: '' })).usage.completionTokens, 0);
});
