/** What a client learns by trying keys, or hashes of keys, of other accounts. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestGateway, type TestResponse } from '../harness/gateway.ts';
import { byTier } from '../harness/tier.ts';

let naru: TestGateway;

before(async () => {
  naru = await startTestGateway();
});
after(() => naru?.close());

/** Status, headers and body, without what differs in every response. */
function outside({ status, headers, text }: TestResponse): string {
  const named = [...headers].filter(
    ([name]) => !['date', 'x-request-id', 'x-service-request-id'].includes(name),
  );
  return JSON.stringify([status, named, text]);
}

// security:18
test('an unknown, a revoked, a disabled key and one of the wrong kind are rejected with the same bytes', async () => {
  const account = await naru.account();
  const management = await account.another({ kind: 'management' });
  const [revoked, off] = [await account.another(), await account.another()];
  await naru.operator.revokeKey(revoked.hash);
  await naru.send('PATCH', `/keys/${off.hash}`, { key: management.key, body: { disabled: true } });
  const keys = [
    `sk-naru-v1-${'0'.repeat(64)}`,
    revoked.key,
    off.key,
    management.key,
    'Bearer',
    'x'.repeat(5_000),
  ];
  const body = { model: 'a/b', messages: [{ role: 'user', content: 'hi' }] };
  const seen = new Set<string>();
  for (const key of keys) seen.add(outside(await naru.send('POST', '/chat/completions', { key, body })));
  assert.equal(seen.size, 1, [...seen].join('\n'));
});

// security:18
test('a key is looked up by its full hash: no comparison runs along its characters', async () => {
  const { key } = await naru.account();
  const near = `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`;
  const far = `sk-naru-v1-${randomBytes(32).toString('hex')}`;
  // The shortest of many: other work on the machine only adds to a time.
  const shortestMs = { near: Number.POSITIVE_INFINITY, far: Number.POSITIVE_INFINITY };
  const areAlike = (): boolean => {
    const { near: one, far: other } = shortestMs;
    return Math.max(one, other) < 2 * Math.min(one, other) + 1;
  };
  const min = byTier(60, 200);
  for (let n = 0; n < min || (!areAlike() && n < 20 * min); n += 1)
    for (const [kind, guess] of Object.entries({ near, far }) as ['near' | 'far', string][]) {
      const beganMs = performance.now();
      assert.equal((await naru.send('GET', '/key', { key: guess })).status, 401);
      shortestMs[kind] = Math.min(shortestMs[kind], performance.now() - beganMs);
    }
  assert.ok(areAlike(), JSON.stringify(shortestMs));
});
