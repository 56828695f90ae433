import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createInstallation, type Installation, type Serving } from '../cli/naru.ts';
import { createTestDatabase, urlOf } from '../harness/database.ts';
import { byTier } from '../harness/tier.ts';
import { scaledLimit } from '../harness/time-limit.ts';
import { reply, startUpstream, usage } from '../harness/upstream.ts';
import { startDeafProxy } from './notification-filter.ts';

/*
 * docs/decisions/publishing-prices.md: a published price applies on every node within a second,
 * also without a notification.
 */

test('a published price is billed by every node within a second, announced or not', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  upstream.always(reply.chat('hello', { usage: usage(10, 5) }));
  const shared = await createTestDatabase();
  t.after(() => shared.drop());
  const proxy = await startDeafProxy(shared.address);
  t.after(() => proxy.close());
  const { user, database } = shared.address;
  const urls = [urlOf(shared.address), `postgres://${user}@127.0.0.1:${proxy.address.port}/${database}`];
  const installations = urls.map(() => createInstallation());
  t.after(() => {
    for (const installation of installations) installation.remove();
  });
  /** Every node has its own file, which the operator changes first. */
  const configure = (installation: Installation, url: string, prompt: number): string =>
    installation.configure({
      database: { url },
      providers: [{ slug: 'up', dialect: 'openai', base_url: upstream.url, api_key: 'k' }],
      models: [
        {
          id: 'test/echo',
          context_length: 4096,
          price: { prompt, completion: 0, per: 'token', confirm: true },
          candidates: [{ provider: 'up', model: 'echo' }],
        },
      ],
    });
  const write = (prompt: number): readonly string[] =>
    installations.map((installation, at) => configure(installation, urls[at] ?? '', prompt));
  const files = write(1);
  const nodes: Serving[] = [];
  t.after(() => Promise.all(nodes.map((node) => node.stop())));
  for (const [at, installation] of installations.entries())
    nodes.push(await installation.up('--config', files[at] ?? ''));
  const [first] = installations;
  const order = (...args: readonly string[]) =>
    first?.json(...args, '--config', files[0] ?? '') ?? assert.fail('no installation');
  await order('account', 'create', '--name', 'a');
  await order('credit', 'grant', '--account', '1', '--amount', '100000');
  const { key } = (await order('key', 'create', '--account', '1', '--name', 'k')).rows[0];

  const costAt = async ({ origin }: Serving): Promise<number | undefined> => {
    const response = await fetch(`${origin}/api/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'test/echo', messages: [{ role: 'user', content: 'hi' }] }),
    });
    return ((await response.json()) as { usage?: { cost: number } }).usage?.cost;
  };
  for (const node of nodes) assert.equal(await costAt(node), 10);
  for (const prompt of byTier([2], [2, 3, 4])) {
    write(prompt);
    const published = await order('models', 'publish');
    const publishedMs = performance.now();
    assert.equal(published.code, 0, published.err);
    for (const [at, node] of nodes.entries()) {
      for (;;) {
        const sentMs = performance.now();
        if ((await costAt(node)) === prompt * 10) {
          t.diagnostic(`node ${at + 1}: after at most ${Math.round(sentMs - publishedMs)} ms`);
          break;
        }
        assert.ok(
          sentMs - publishedMs < scaledLimit(1_000),
          `node ${at + 1} still bills the old price after a second`,
        );
        await pause(15);
      }
    }
  }
  assert.ok(proxy.swallowed > 0, 'the node with a cut notification channel received no notification');
  const { rows } = await order('ledger', 'verify');
  assert.equal(rows[0]?.ok, true);
});
