import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createInstallation, type Installation, type Serving } from '../cli/naru.ts';
import { createTestDatabase, urlOf } from '../harness/database.ts';
import { freePort } from '../harness/free-port.ts';
import { byTier } from '../harness/tier.ts';
import { scaledLimit } from '../harness/time-limit.ts';
import { until } from '../harness/until.ts';
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

// spec:money/2.6
test('three nodes with three files bill the published edition, and say whose file differs', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  upstream.always(reply.chat('hello', { usage: usage(10, 5) }));
  const shared = await createTestDatabase();
  t.after(() => shared.drop());
  const nodes = await Promise.all([1, 2, 3].map(() => startNode(t, upstream.url, urlOf(shared.address))));
  const [first, second, third] = nodes;
  assert.ok(first !== undefined && second !== undefined && third !== undefined);
  await first.start(1);
  await first.order('account', 'create', '--name', 'a');
  await first.order('credit', 'grant', '--account', '1', '--amount', '100000');
  const { key } = (await first.order('key', 'create', '--account', '1', '--name', 'k')).rows[0];
  const costs = () => Promise.all(nodes.map((node) => node.cost(key)));

  // A start with another file, and a reload of one: the others are live.
  await second.start(2);
  await third.start(1);
  third.write(3);
  third.serving().child.kill('SIGHUP');
  await until('the reload', () => third.serving().err().includes('configuration reloaded'));
  assert.deepEqual(await costs(), [10, 10, 10]);
  assert.match(second.serving().err(), /"price_not_published".*"before":"1\/0","after":"2\/0"/);
  const states = async () => (await first.order('node', 'list')).rows.map((row) => row.prices);
  const differs = 'differs in 1 price';
  await until('the marks', async () => (await states()).join() === `as published,${differs},${differs}`);
  const doctor = await first.order('doctor');
  assert.equal(doctor.rows.filter(({ check, ok }) => check === 'prices' && !ok).length, 2);
  assert.match(await second.metrics(), /^naru_price_differences 1$/m);
  assert.match(await first.metrics(), /^naru_price_differences 0$/m);

  // A node that is paused is named, and bills the edition as soon as it is back.
  second.serving().child.kill('SIGSTOP');
  third.write(3);
  const published = await third.order('models', 'publish');
  second.serving().child.kill('SIGCONT');
  assert.equal(published.code, 1);
  assert.equal(published.rows.at(-1).not_taken.length, 1);
  assert.deepEqual(await costs(), [30, 30, 30]);

  // Alone, a reload publishes, and so does a start with an older file.
  await second.serving().stop();
  await third.serving().stop();
  first.write(4);
  first.serving().child.kill('SIGHUP');
  await until('the publication', async () => (await first.cost(key)) === 40);
  const change = /"catalogue_changed".*"before":"3\/0","after":"4\/0"/;
  await until('its log line', () => change.test(first.serving().err()));
  first.serving().child.kill('SIGKILL');
  await first.serving().ended;
  await first.start(1);
  assert.equal(await first.cost(key), 10);
  assert.equal((await first.order('ledger', 'verify')).rows[0]?.ok, true);
});

/** An installation that shares a database, with a file of its own. */
async function startNode(t: TestContext, upstreamUrl: string, url: string) {
  const installation = createInstallation();
  let serving: Serving | null = null;
  t.after(async () => {
    await serving?.stop();
    installation.remove();
  });
  const admin = await freePort();
  const write = (prompt: number): string =>
    installation.configure({
      database: { url },
      admin: { port: admin },
      providers: [{ slug: 'up', dialect: 'openai', base_url: upstreamUrl, api_key: 'k' }],
      models: [
        {
          id: 'test/echo',
          context_length: 4096,
          price: { prompt, completion: 0, per: 'token', confirm: true },
          candidates: [{ provider: 'up', model: 'echo' }],
        },
      ],
    });
  let file = '';
  const current = (): Serving => serving ?? assert.fail('it does not serve');
  return {
    write,
    serving: current,
    start: async (prompt: number) => {
      file = write(prompt);
      serving = await installation.up('--config', file);
    },
    order: (...args: readonly string[]) => installation.json(...args, '--config', file),
    metrics: async () => (await fetch(`http://127.0.0.1:${admin}/metrics`)).text(),
    cost: async (key: string): Promise<number | undefined> => {
      const response = await fetch(`${current().origin}/api/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'test/echo', messages: [{ role: 'user', content: 'hi' }] }),
      });
      return ((await response.json()) as { usage?: { cost: number } }).usage?.cost;
    },
  };
}
