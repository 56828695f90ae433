import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anything, asyncProperty, assert as check } from 'fast-check';
import { parseCompletionRequest } from '../../src/inference/parse-request.ts';
import { countTexts } from '../../src/metering/count-tokens.ts';
import { reconcileUsage } from '../../src/metering/reconcile-usage.ts';
import type { CompletionRequest, UsageClaim } from '../../src/wire/chat.ts';

const prompt = 'What is a ferry, and where does one cross the river?';
const response = 'A ferry is a ship that crosses a river.';
const request: CompletionRequest = parseCompletionRequest(
  'chat',
  Buffer.from(JSON.stringify({ model: 'a/b', messages: [{ role: 'user', content: prompt }] })),
  null,
);
const received = {
  texts: [response],
  messages: 1,
  maxPromptMediaTokens: 0,
  maxUnseenTokens: 0,
  maxHiddenTokens: 0,
};

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

// spec:money/4.8
test('plausible reported usage is accepted to the token', async () => {
  assert.deepEqual(await reconcileUsage(claim(14, 9), request, received), {
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

// spec:money/4.8
test('for any reported usage the billed one is whole, not negative, and at most one token per byte plus 64 for the message', async () => {
  await check(
    asyncProperty(anything(), anything(), anything(), anything(), async (a, b, c, d) => {
      const { usage } = await reconcileUsage(
        claim(a, b, { reasoningTokens: c, cacheReadTokens: d, cacheWriteTokens: a }),
        request,
        received,
      );
      for (const count of Object.values(usage)) assert.ok(Number.isSafeInteger(count) && count >= 0);
      assert.ok(usage.promptTokens >= 1 && usage.promptTokens <= prompt.length + 64);
      assert.ok(usage.completionTokens >= 1 && usage.completionTokens <= response.length + 64);
      assert.ok(usage.reasoningTokens <= usage.completionTokens);
      assert.ok(usage.cacheReadTokens + usage.cacheWriteTokens <= usage.promptTokens);
    }),
    { numRuns: 300 },
  );
});

// spec:money/4.9
test('absurd reported usage is replaced by our own count, and the record notes it', async () => {
  const { usage, source } = await reconcileUsage(claim(1e9, 1e9), request, received);
  assert.equal(source, 'rejected');
  assert.equal(usage.promptTokens, (await countTexts([prompt])) + 4);
  assert.equal(usage.completionTokens, await countTexts([response]));
});

// spec:money/4.8
test("a byte-level tokenizer's count is accepted, also of Korean, up to the last byte", async () => {
  const text = '나루는 강을 건너는 곳이다. '.repeat(20);
  const bytes = Buffer.byteLength(text);
  const korean = parseCompletionRequest(
    'chat',
    Buffer.from(JSON.stringify({ model: 'a/b', messages: [{ role: 'user', content: text }] })),
    null,
  );
  const withText = { ...received, texts: [text] };
  const most = await reconcileUsage(claim(bytes + 64, bytes + 64), korean, withText);
  assert.deepEqual(
    [most.usage.promptTokens, most.usage.completionTokens, most.source],
    [bytes + 64, bytes + 64, 'upstream'],
  );
  const above = await reconcileUsage(claim(bytes + 65, bytes + 65), korean, withText);
  assert.deepEqual(
    [above.usage.promptTokens, above.usage.completionTokens, above.source],
    [(await countTexts([text])) + 4, await countTexts([text]), 'rejected'],
  );
});

// spec:money/4.8
test('hidden reasoning may be billed if the model reasons, up to its maximum completion', async () => {
  const thinking = { ...received, maxHiddenTokens: 1000 };
  const { usage, source } = await reconcileUsage(claim(14, 900, { reasoningTokens: 890 }), request, thinking);
  assert.deepEqual([usage.completionTokens, usage.reasoningTokens, source], [900, 890, 'upstream']);
  const most = await reconcileUsage(claim(14, 5000, { reasoningTokens: 4990 }), request, thinking);
  assert.equal(most.source, 'rejected');
  assert.equal(most.usage.completionTokens, await countTexts([response]));
});

test('an empty response counts as nothing, whatever is reported', async () => {
  const silent = { ...received, texts: [''] };
  assert.equal((await reconcileUsage(claim(14, 0), request, silent)).usage.completionTokens, 0);
  assert.equal((await reconcileUsage(null, request, silent)).usage.completionTokens, 0);
});
