/** `GET /readyz` and the pages beside the API: true, cheap, and limited. */
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:net';
import { type TestContext, test } from 'node:test';
import { connect as openConnection } from '../../src/store/connection.ts';
import { connectTo, serverAddress } from '../harness/database.ts';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { StoppedClock } from '../harness/test-clock.ts';
import { until } from '../harness/until.ts';

/** A database address that counts connections. */
async function startCounted(
  t: TestContext,
  more: Parameters<typeof startTestGateway>[0] = {},
): Promise<{ readonly naru: TestGateway; readonly connections: () => number }> {
  let connections = 0;
  const opened: Server[] = [];
  const naru = await startTestGateway({
    ...more,
    through: async (address) => {
      const server = createServer((socket) => {
        connections += 1;
        const onward = connectTo(address);
        socket.on('error', () => onward.destroy()).pipe(onward);
        onward.on('error', () => socket.destroy()).pipe(socket);
      });
      opened.push(server);
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const at = server.address();
      if (at === null || typeof at === 'string') throw new Error('no port');
      return { ...address, host: '127.0.0.1', port: at.port };
    },
  });
  t.after(async () => {
    await naru.close();
    for (const server of opened) server.close();
  });
  return { naru, connections: () => connections };
}

const ready = async (naru: TestGateway): Promise<number> => (await naru.send('GET', '/readyz')).status;

// security:8
test('/readyz queries the database once a second, however often it is requested', async (t) => {
  const { naru, connections } = await startCounted(t);
  assert.equal(await ready(naru), 200);
  const before = connections();
  const beganMs = performance.now();
  for (let n = 0; n < 20; n += 1) {
    const responses = await Promise.all(Array.from({ length: 20 }, () => ready(naru)));
    // A slow machine reports a database that does not respond in time.
    for (const status of new Set(responses)) assert.ok(status === 200 || status === 503, `${status}`);
  }
  const seconds = (performance.now() - beganMs) / 1000;
  // The pool opens what it needs for other work; that is not a connection for each of 400
  // questions.
  assert.ok(connections() - before <= 8 + seconds, `${connections() - before} connections in ${seconds} s`);
});

// spec:operator/3.2
test('/readyz is not 200 while the database rejects new connections, even if those of the pool work', async (t) => {
  const naru = await startTestGateway();
  t.after(() => naru.close());
  const { key } = await naru.account();
  assert.equal(await ready(naru), 200);
  // From now on the key is in memory.
  assert.equal((await naru.send('GET', '/key', { key })).status, 200);
  const beside = await openConnection({ ...serverAddress(), database: 'postgres' });
  t.after(() => beside.end());
  const allow = (yes: boolean) =>
    beside.query(`ALTER DATABASE ${naru.database.address.database} ALLOW_CONNECTIONS ${yes}`);
  await allow(false);
  // A slow machine reports a database that does not respond in time first.
  const reported = () =>
    until(
      'it reports so',
      async () => {
        const { status, json } = await naru.send('GET', '/readyz');
        return status === 503 && json.reason === 'the database accepts no new connections';
      },
      60_000,
    );
  await reported();
  assert.equal((await naru.send('GET', '/key', { key })).status, 200);
  // The same reason when none of the old connections is left.
  await beside.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [
    naru.database.address.database,
  ]);
  // The result of a second ago is cached.
  const lostMs = performance.now();
  await until('the next look', () => performance.now() - lostMs > 1_100);
  await reported();
  await allow(true);
  await until('it is ready', async () => (await ready(naru)) === 200, 60_000);
});

// security:8
test('the pages beside the API have their own limit per address, and /healthz has none', async (t) => {
  // No count refills, so that a slow machine reaches the limit as a fast one does.
  const naru = await startTestGateway({
    clock: new StoppedClock(),
    config: { edge: { rate_limit: 'builtin' } },
  });
  t.after(() => naru.close());
  const flood = async (path: string): Promise<readonly number[]> =>
    Promise.all(Array.from({ length: 70 }, async () => (await naru.send('GET', path)).status));
  const seen = new Set(await flood('/readyz'));
  assert.deepEqual(seen, new Set([200, 429]));
  assert.deepEqual(new Set(await flood('/healthz')), new Set([200]));
  const api = await naru.send('GET', '/models');
  assert.equal(api.status, 200, 'the API has its own count');
  for (const path of ['/docs', '/openapi.json']) assert.ok((await flood(path)).includes(429), path);
});

test("the API's pages are cacheable, and probes are not", async (t) => {
  const naru = await startTestGateway();
  t.after(() => naru.close());
  const cacheOf = async (path: string) => (await naru.send('GET', path)).headers.get('cache-control');
  for (const path of ['/docs', '/docs/start.js', '/openapi.json'])
    assert.match((await cacheOf(path)) ?? '', /^public, max-age=\d+$/, path);
  for (const path of ['/healthz', '/readyz']) assert.equal(await cacheOf(path), 'no-store', path);
  const [first, second] = [await naru.send('GET', '/openapi.json'), await naru.send('GET', '/openapi.json')];
  assert.equal(first.text, second.text);
  assert.notEqual((await naru.send('GET', '/openapi.json?lang=ko')).text, first.text);
});
