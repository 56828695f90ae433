import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { OperatorService } from '../../src/operations/operator-service.ts';
import { Database } from '../../src/store/database.ts';
import { createTestDatabase, urlOf } from '../harness/database.ts';
import { createPayer, operatorOn, type Payer } from '../harness/payer.ts';
import { fullOnly } from '../harness/tier.ts';
import { scaledLimit } from '../harness/time-limit.ts';
import { until } from '../harness/until.ts';
import { gate, reply, startUpstream } from '../harness/upstream.ts';
import { assertMet, auditHistory, readLedger } from './audit.ts';
import { request, type Sight } from './client.ts';
import { createSite, type NaruProcess, startNaru } from './naru-process.ts';

interface InFlight {
  readonly operator: OperatorService;
  readonly naru: NaruProcess;
  /** A whole request and a streamed one. */
  readonly requests: readonly Promise<Sight>[];
  release(): void;
}

/**
 * A real `naru up` with two requests in flight that wait for their upstream. Its database outlives
 * it.
 */
async function startWithRequests(t: TestContext): Promise<InFlight> {
  const upstream = await startUpstream();
  const { address, drop } = await createTestDatabase();
  const database = new Database(address, 2);
  const operator = operatorOn(database);
  const site = createSite(upstream.url, { database: { url: urlOf(address) } });
  t.after(async () => {
    await upstream.close();
    await site.end();
    await database.close();
    await drop();
  });
  const naru = await startNaru(site);
  const payer = await createPayer(operator, '1000000', 1);
  const gates = [gate(), gate()] as const;
  upstream.next(reply.whole('all of it').pauseAt(0, gates[0]));
  const whole = request(naru.url, order(payer, false), new Agent({ keepAlive: true }));
  await gates[0].reached;
  upstream.next(reply.stream(['some ', gates[1], 'more']));
  const streamed = request(naru.url, order(payer, true), new Agent({ keepAlive: true }));
  await gates[1].reached;
  return {
    operator,
    naru,
    requests: [whole, streamed],
    release: () => gates.forEach((one) => void one.open()),
  };
}

function order(payer: Payer, stream: boolean): Parameters<typeof request>[1] {
  return {
    tag: stream ? 'streamed' : 'whole',
    accountId: payer.accountId,
    key: payer.keys[0]?.key ?? '',
    path: '/chat/completions',
    body: { model: 'test/echo', messages: [{ role: 'user', content: 'hello' }], stream },
    leaveAfterMs: null,
  };
}

/** The server settled everything before it exited: no other one runs. */
async function assertExact(operator: OperatorService, sights: readonly Sight[]): Promise<void> {
  assertMet(auditHistory(sights, await readLedger(operator), new Set(['server'])));
}

async function refusesConnections(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const refused = await once(socket, 'connect').then(
    () => false,
    (error) => error.code === 'ECONNREFUSED',
  );
  socket.destroy();
  return refused;
}

// One of two servers under load, with the same ends and an exact ledger: test/edge/rolling-restart.test.ts;
// connections that are refused: test/edge/stopping.test.ts.
test(
  'SIGTERM: requests in flight complete, new connections are rejected, the exit code is 0',
  fullOnly,
  async (t) => {
    const { operator, naru, requests: request, release } = await startWithRequests(t);
    naru.child.kill('SIGTERM');
    await until('connections are refused', () => refusesConnections(naru.port), 5_000);
    release();
    const sights = await Promise.all(request);
    assert.deepEqual(
      sights.map((sight) => sight.kind),
      ['success', 'success'],
    );
    assert.equal(await naru.ended, 0);
    await assertExact(operator, sights);
  },
);

test('a second SIGTERM: requests in flight end with an error and cost nothing, the exit code is 0', async (t) => {
  const { operator, naru, requests: sent } = await startWithRequests(t);
  naru.child.kill('SIGTERM');
  await until('connections are refused', () => refusesConnections(naru.port), 5_000);
  // Within half a second it would count as the same request to stop, received twice.
  await sleep(scaledLimit(600));
  naru.child.kill('SIGTERM');
  const sights = await Promise.all(sent);
  assert.deepEqual(
    sights.map((sight) => sight.kind),
    ['refused', 'errored'],
  );
  assert.equal(sights[0]?.errorType, 'server');
  assert.equal(await naru.ended, 0);
  await assertExact(operator, sights);
});
