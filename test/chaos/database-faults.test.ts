import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPayer, type Payer } from '../harness/payer.ts';
import { byTier, fullOnly } from '../harness/tier.ts';
import { until } from '../harness/until.ts';
import { assertMet, auditHistory, auditMemory, expectedRefusals, readJson, readLedger } from './audit.ts';
import { type BehindCutter, startBehindCutter } from './gateway-behind-cutter.ts';
import { type Load, startLoad } from './load.ts';

interface Loaded extends BehindCutter {
  readonly payers: readonly Payer[];
  readonly load: Load;
}

async function startLoaded(
  t: Parameters<typeof startBehindCutter>[0],
  name: string,
  ownRole = false,
): Promise<Loaded> {
  const world = await startBehindCutter(t, ownRole);
  const payers = [await createPayer(world.operator, '90000000', 2)];
  for (const { key } of payers.flatMap((payer) => payer.keys)) await readJson(`${world.naru.url}/key`, key);
  const load = startLoad(world.naru.url, payers, {
    ...{ clients: byTier(2, 8), seed: 3, name, mayWait: true },
    pauseMs: byTier(10, 0),
  });
  await until('it serves', () => load.sights.length > byTier(15, 30), 20_000);
  return { ...world, payers, load };
}

/**
 * It recovers without help; completed responses are in the ledger, and no request was rejected for
 * an internal fault.
 */
async function assertRecovered(
  { naru, operator, payers, load }: Loaded,
  limitMs: number,
): Promise<readonly (string | null)[]> {
  const seen = good(load);
  await until('it serves again', () => good(load) > seen + 20, limitMs);
  await load.stop();
  await until('all is settled', () => naru.gateway.settlements.backlog === 0, limitMs);
  const ledger = await readLedger(operator);
  assertMet(auditHistory(load.sights, ledger, new Set([...expectedRefusals, 'server'])));
  await until(
    'memory agrees',
    async () => (await auditMemory(naru.url, payers, ledger.entries, ledger.generations)).faults.length === 0,
    10_000,
  );
  assert.equal(naru.logged.filter((line) => line['event'] === 'settlement_quarantined').length, 0);
  return load.sights.map((sight) => sight.errorType);
}

const good = ({ sights }: Load): number => sights.filter((sight) => sight.kind === 'success').length;

test('a network that drops database traffic: 500 after a while, and a new connection without a restart', async (t) => {
  const world = await startLoaded(t, 'hole');
  world.cutter.hole();
  await until('it reports so', async () => (await world.naru.send('GET', '/readyz')).status === 503, 3_000);
  assert.equal((await world.naru.send('GET', '/models')).status, 200);
  await until('it is a 500', () => world.load.sights.some((sight) => sight.errorType === 'server'), 10_000);
  world.cutter.up();
  const beganMs = performance.now();
  await assertRecovered(world, 40_000);
  t.diagnostic(`recovered after ${Math.round(performance.now() - beganMs)} ms`);
});

test('a read-only database: requests succeed, the journal keeps their charges, no row is quarantined', async (t) => {
  const world = await startLoaded(t, 'readonly');
  const { database } = world.naru.database.address;
  const direct = world.direct;
  await direct.query(`ALTER DATABASE ${database} SET default_transaction_read_only = on`);
  world.cutter.down();
  world.cutter.up();
  const cutMs = performance.now();
  const { gateway } = world.naru;
  await until('settlements wait', () => gateway.settlements.backlog > 20, 20_000);
  // What memory had before is stale by now: requests are served with what is read since then.
  await until('memory is stale', () => performance.now() - cutMs > byTier(1_500, 7_000), 20_000);
  const { length } = world.load.sights;
  const before = good(world.load);
  await until('it serves on', () => good(world.load) > before + 20, 20_000);
  const failed = world.load.sights.slice(length).filter(({ errorType }) => errorType === 'server');
  assert.equal(failed.length, 0, 'requests failed for the database');
  await direct.query(`ALTER DATABASE ${database} RESET default_transaction_read_only`);
  world.cutter.down();
  world.cutter.up();
  await assertRecovered(world, 20_000);
});

test('a database with 300 ms latency: all requests succeed, later', fullOnly, async (t) => {
  const world = await startLoaded(t, 'slow');
  world.cutter.delay(300);
  const before = good(world.load);
  await sleep(1_500);
  await until('it serves', () => good(world.load) > before + 30, 30_000);
  world.cutter.up();
  await assertRecovered(world, 20_000);
});

test('a database without free connections: 500 until one is free, and settled then', async (t) => {
  const world = await startLoaded(t, 'full', true);
  const { database } = world.naru.database.address;
  await world.direct.query(`ALTER ROLE ${database} CONNECTION LIMIT 0`);
  world.cutter.down();
  world.cutter.up();
  await until('it reports so', async () => (await world.naru.send('GET', '/readyz')).status === 503, 5_000);
  await world.direct.query(`ALTER ROLE ${database} CONNECTION LIMIT -1`);
  await assertRecovered(world, 20_000);
});
