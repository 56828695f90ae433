/**
 * A process that was busy for seconds has not lost its database: bytes that arrived meanwhile are
 * read before anything times out.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestGateway } from '../harness/gateway.ts';
import { byTier, fullOnly } from '../harness/tier.ts';
import { startUpstream } from '../harness/upstream.ts';

/** Keeps the event loop from turning. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

test('requests before, during and after a blocked event loop all succeed, repeatedly', {
  timeout: 120_000,
}, async (t) => {
  const upstream = await startUpstream();
  const naru = await startTestGateway({ models: [{ id: 'test/echo', upstreams: [upstream.url] }] });
  t.after(async () => {
    await naru.close();
    await upstream.close();
  });
  const { key, another } = await naru.account({ credit: '100000000' });
  const body = { model: 'test/echo', messages: [{ role: 'user', content: 'hi' }] };
  const statuses: number[] = [];
  // The last is longer than the limit of a poll of the change feed.
  for (const blockedMs of byTier([1_200, 3_500], [1_200, 1_200, 1_200, 3_500])) {
    // A key that is not cached is looked up while the loop is blocked.
    const fresh = await another();
    const request = [key, fresh.key, key].map((one) =>
      naru.send('POST', '/chat/completions', { key: one, body }).then(({ status }) => statuses.push(status)),
    );
    await new Promise(setImmediate);
    block(blockedMs);
    request.push(naru.send('GET', '/credits', { key }).then(({ status }) => statuses.push(status)));
    await Promise.all(request);
  }
  assert.deepEqual([...new Set(statuses)], [200], statuses.join());
  assert.deepEqual(
    naru.logged.filter(({ event }) => event === 'change_feed_lost'),
    [],
  );
});

test('requests succeed while every turn of the event loop takes more than a second', {
  ...fullOnly,
  timeout: 120_000,
}, async (t) => {
  const naru = await startTestGateway();
  t.after(() => naru.close());
  const { key } = await naru.account();
  let isOver = false;
  const busy = (): void => {
    block(1_100);
    if (!isOver) setImmediate(busy);
  };
  const sent = naru.send('GET', '/credits', { key });
  setImmediate(busy);
  const { status } = await sent;
  isOver = true;
  assert.equal(status, 200);
});
