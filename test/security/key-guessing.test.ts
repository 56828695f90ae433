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
function outside({ status, headers, text }: TestResponse, hash = ''): string {
  const named = [...headers].filter(
    ([name]) => !['date', 'x-request-id', 'x-service-request-id'].includes(name),
  );
  return JSON.stringify([status, named, text.replaceAll(`${hash.slice(0, 8)}…${hash.slice(-4)}`, 'HASH')]);
}

/** Two kinds of guesses, and how long each took, milliseconds. */
class Times<Kind extends string> {
  readonly #kinds: readonly [Kind, Kind];
  readonly #shortest = new Map<Kind, number>();
  #count = 0;

  constructor(...kinds: [Kind, Kind]) {
    this.#kinds = kinds;
  }

  /** The shortest of many counts: other work on the machine only adds to a time. */
  add(kind: Kind, ms: number): void {
    this.#shortest.set(kind, Math.min(ms, this.#shortest.get(kind) ?? ms));
    this.#count += 1;
  }

  /** Whether more are needed: at least so many, and up to twenty times as many until they are alike. */
  needsMore(least: number): boolean {
    return this.#count < least || (!this.areAlike && this.#count < 20 * least);
  }

  get areAlike(): boolean {
    const [one, other] = this.#kinds.map((kind) => this.#shortest.get(kind) ?? 0) as [number, number];
    return Math.max(one, other) < 2 * Math.min(one, other) + 1;
  }

  toString(): string {
    return [...this.#shortest].map(([kind, ms]) => `${kind} ${ms} ms`).join(', ');
  }
}

// security:18
test('a key of another account and an unknown key cannot be distinguished: same bytes, same time', async () => {
  const [mine, other] = await Promise.all([naru.account(), naru.account()]);
  const management = (await mine.another({ kind: 'management' })).key;
  const revoked = await other.another();
  await naru.operator.revokeKey(revoked.hash);
  const kinds: Readonly<Record<string, () => string>> = {
    never: () => randomBytes(32).toString('hex'),
    other: () => other.hash,
    revoked: () => revoked.hash,
    malformed: () => 'z'.repeat(64),
  };
  for (const [method, body] of [['GET'], ['PATCH', { name: 'mine' }], ['DELETE']] as const) {
    const seen = new Map<string, string>();
    const times = new Times<string>('never', 'other');
    while (times.needsMore(4 * byTier(16, 40))) {
      for (const [kind, make] of Object.entries(kinds)) {
        const hash = make();
        const beganMs = performance.now();
        const response = await naru.send(method, `/keys/${hash}`, {
          key: management,
          ...(body === undefined ? {} : { body }),
        });
        times.add(kind, performance.now() - beganMs);
        assert.equal(response.status, 404);
        seen.set(kind, outside(response, hash));
      }
    }
    assert.equal(new Set(seen.values()).size, 1, JSON.stringify([...seen], null, 1));
    assert.ok(times.areAlike, String(times));
  }
});

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
  const times = new Times('near', 'far');
  while (times.needsMore(2 * byTier(60, 200)))
    for (const [kind, guess] of [
      ['near', near],
      ['far', far],
    ] as const) {
      const beganMs = performance.now();
      assert.equal((await naru.send('GET', '/key', { key: guess })).status, 401);
      times.add(kind, performance.now() - beganMs);
    }
  assert.ok(times.areAlike, String(times));
});
