import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { Secret } from '../../src/config/secret.ts';
import type { SlotGrant, SlotLease } from '../../src/slots/slots.ts';
import { engineSlot, openSlots } from '../harness/fake-engine.ts';

const me = (coldWaitMs = 5000) => ({ accountId: 1, signal: new AbortController().signal, coldWaitMs });

function leased(granted: SlotGrant): SlotLease {
  assert.ok(granted.kind === 'lease', `loading, ${granted.kind === 'loading' ? granted.retryAfterSec : ''}`);
  return granted;
}

/** A server with its own health, and the number of its probes. */
async function server(t: TestContext): Promise<{ root: string; health: number; probes: number }> {
  const state = { root: '', health: 200, probes: 0 };
  const http = createServer((request, response) => {
    if (request.url === '/up') state.probes += 1;
    response.writeHead(request.url === '/up' ? state.health : 404).end();
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  t.after(() => http.close());
  const address = http.address();
  state.root = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  return state;
}

const external = (root: string) =>
  engineSlot({}, { driver: { kind: 'external', baseUrl: `${root}/`, healthPath: '/up' } });

test('an external engine is probed at the first use, then serves its lanes without further probes', async (t) => {
  const there = await server(t);
  const slots = await openSlots(t, external(there.root));
  assert.equal(there.probes, 0);
  const lease = leased(await slots.acquire('local-a', me()));
  assert.equal(lease.baseUrl, `${there.root}/v1`);
  const behind = slots.acquire('local-a', me());
  assert.equal(slots.status('local-a').queued, 1);
  lease.release();
  leased(await behind).release();
  const { driver, state, pid, port } = slots.status('local-a');
  assert.deepEqual([driver, state, pid, port, there.probes], ['external', 'READY', null, null, 1]);
});

test('an unhealthy external engine makes requests wait until it is healthy', async (t) => {
  const there = await server(t);
  there.health = 503;
  const slots = await openSlots(t, external(there.root));
  assert.equal((await slots.acquire('local-a', me(100))).kind, 'loading');
  const waiting = slots.acquire('local-a', me());
  there.health = 200;
  leased(await waiting);
});

test('an external engine that rejected a request is probed again before the next lease', async (t) => {
  const there = await server(t);
  const slots = await openSlots(t, external(there.root));
  const lease = leased(await slots.acquire('local-a', me()));
  there.health = 500;
  lease.release('unreachable');
  assert.equal(slots.status('local-a').state, 'STARTING');
  assert.equal((await slots.acquire('local-a', me(100))).kind, 'loading');
  there.health = 200;
  leased(await slots.acquire('local-a', me())).release('served');
  assert.equal(slots.status('local-a').state, 'READY');
});

test('an external engine with an API key is probed with it, and its list of models read with it', async (t) => {
  const http = createServer((request, response) => {
    const isKnown = request.headers.authorization === 'Bearer engine-key';
    response.writeHead(isKnown ? 200 : 401).end(JSON.stringify({ data: [{ id: 'tiny' }] }));
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  t.after(() => http.close());
  const address = http.address();
  const baseUrl = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  const driver = { kind: 'external', baseUrl, healthPath: '/v1/models' } as const;
  const slots = await openSlots(
    t,
    engineSlot({}, { driver, model: 'tiny', apiKey: new Secret('engine-key') }),
  );
  leased(await slots.acquire('local-a', me()));
});
