/**
 * A failover to an asynchronous standby: completed responses are charged there, once, and memory
 * agrees with it.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { createInstallation, type Serving } from '../cli/naru.ts';
import { echoConfig } from '../harness/echo-config.ts';
import { assertExact, createPayer, settledOn, startPair } from '../harness/failover-pair.ts';
import { byTier } from '../harness/tier.ts';
import { eventually } from '../harness/until.ts';
import { gate, reply, startUpstream, usage } from '../harness/upstream.ts';
import { chat, type Ended, send } from './worker-site.ts';

function respondedIds(responses: readonly Ended[]): readonly string[] {
  for (const { status, text } of responses) assert.equal(status, 200, text);
  return responses.map(({ id }) => id ?? assert.fail('no generation id'));
}

for (const workers of byTier([1], [1, 2])) {
  // spec:money/5.6-5.7
  test(`${workers === 1 ? 'one process' : 'each worker'} exits after a failover, and its successor settles again what the standby lacks`, async (t) => {
    const { primary, standby, address, failOver } = await startPair(t);
    const upstream = await startUpstream();
    upstream.always(reply.chat('hello', { usage: usage(10, 5) }));
    const installation = createInstallation();
    const file = installation.configure({
      database: { url: address.url },
      edge: { rate_limit: 'external', trusted_proxies: ['192.0.2.1'] },
      ...echoConfig(upstream.url),
    });
    const start = () => installation.up('--json', '--config', file, '--workers', String(workers));
    let serving: Serving = await start();
    t.after(async () => {
      serving.child.kill('SIGKILL');
      await serving.ended;
      await upstream.close();
      installation.remove();
    });
    const { key } = await createPayer(primary);
    const many = async (count: number): Promise<readonly string[]> =>
      respondedIds(await Promise.all(Array.from({ length: count }, () => send(serving.origin, key))));
    const before = await many(10);
    await settledOn(standby, before.length);
    await standby.pause();
    const lost = [...(await many(30))];
    await settledOn(primary, before.length + lost.length);
    const hold = gate();
    // A single process ends, and waits for the request that it is running.
    if (workers === 1) upstream.next(reply.stream(['hello', hold], { usage: usage(10, 5) }));
    const open = workers === 1 ? send(serving.origin, key, { ...chat, stream: true }) : null;
    if (open !== null) await hold.reached;
    await failOver(async () => assertExact(standby, before));
    const events = (name: string): number => serving.err().split(`"event":"${name}"`).length - 1;
    await eventually('every process noticed', 30_000, () =>
      events('history_changed') === workers ? true : null,
    );
    if (open !== null) {
      hold.open();
      lost.push(...respondedIds([await open]));
      assert.equal(await serving.ended, 75);
      serving = await start();
    }
    await settledOn(standby, before.length + lost.length);
    await assertExact(standby, [...before, ...lost]);
    if (workers > 1)
      await eventually('every worker is replaced', 60_000, () =>
        events('worker_replaced') >= workers ? true : null,
      );
    const after = await many(10);
    const all = [...before, ...lost, ...after];
    await settledOn(standby, all.length);
    await assertExact(standby, all);
    // Workers learn what the others spent a moment later.
    const expected = { total_credits: 100_000, total_usage: 20 * all.length };
    await eventually('memory has all of it, and no more', 10_000, async () => {
      const { text } = await send(serving.origin, key, undefined, false, '/api/v1/credits');
      return isDeepStrictEqual(JSON.parse(text).data, expected) ? true : null;
    });
    assert.equal(await serving.stop(), 0);
  });
}
