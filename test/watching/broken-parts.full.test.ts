/**
 * Breaks what each alert watches, and evaluates the rules of deploy/prometheus on what `/metrics` then
 * shows.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { BackupJob } from '../../src/backup/backup-job.ts';
import { backupMetrics } from '../../src/backup/metrics.ts';
import { silentLog } from '../../src/log/log.ts';
import { readRegistry, renderPage } from '../../src/metrics/registry.ts';
import type { DatabaseAddress } from '../../src/store/connection.ts';
import { Database } from '../../src/store/database.ts';
import { startBehindCutter } from '../chaos/gateway-behind-cutter.ts';
import { startCertificateServer } from '../harness/certificate-server.ts';
import { createTestDatabase } from '../harness/database.ts';
import { parseExposition } from '../harness/exposition.ts';
import { configuredEngine, type SlotTree } from '../harness/fake-engine.ts';
import { startTestGateway, type TestGateway, testPrice } from '../harness/gateway.ts';
import { TestClock } from '../harness/test-clock.ts';
import { eventually, until } from '../harness/until.ts';
import { gate, reply, startUpstream, type Upstream, usage } from '../harness/upstream.ts';
import { firingAlerts, ruleFile, type Scrape } from './promtool.ts';
import { scrape } from './watched-gateway.ts';

async function upstreamOf(t: TestContext): Promise<Upstream> {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  return upstream;
}

async function assertFires(alert: string, before: Scrape, after: Scrape, minutes?: number): Promise<void> {
  const firing = firingAlerts(ruleFile, before, after, minutes);
  assert.ok(firing.includes(alert), `${alert} does not fire, but ${firing.join()}`);
  const quiet = firingAlerts(ruleFile, before, before, minutes);
  assert.ok(!quiet.includes(alert), `${alert} fires before anything is broken`);
}

/** Requests of a slot, which end as they may. */
function callsOf(naru: TestGateway, key: string): (slot: string) => Promise<number> {
  return async (slot) => {
    const body = { model: `test/${slot}`, messages: [{ role: 'user', content: 'x' }] };
    return (await naru.send('POST', '/chat/completions', { key, body })).status;
  };
}

async function startWithSlots(t: TestContext, slots: readonly SlotTree[], more: Record<string, object> = {}) {
  const naru = await startTestGateway({
    config: {
      slots,
      models: slots.map(({ name }) => ({
        ...{ id: `test/${name}`, context_length: 1000, price: testPrice },
        candidates: [{ slot: name }],
      })),
      ...more,
    },
  });
  t.after(() => naru.close());
  const { key } = await naru.account({ credit: '1000000' });
  return { naru, call: callsOf(naru, key) };
}

test('a process that is busy, and a clock that is ahead, raise alerts', async (t) => {
  const naru = await startTestGateway();
  t.after(() => naru.close());
  const before = await scrape(naru);
  // Without a pause in which the process is idle: then it takes one sample a second, at any moment.
  for (let n = 0; n < 10; n += 1) {
    await new Promise((resolve) => setTimeout(resolve));
    const endMs = performance.now() + 500;
    while (performance.now() < endMs);
  }
  await new Promise((resolve) => setTimeout(resolve));
  await assertFires('NaruEventLoopBusy', before, await scrape(naru));
  const clock = new TestClock();
  clock.advance(5_000);
  const ahead = await startTestGateway({ clock, followsDatabase: true });
  t.after(() => ahead.close());
  const skewed = await scrape(ahead);
  assert.ok(firingAlerts(ruleFile, skewed, skewed).includes('NaruClockSkew'));
});

test('a database that takes settlements late raises an alert', async (t) => {
  const { naru, cutter } = await startBehindCutter(t);
  const account = await naru.account();
  const script = { act: 'respond', wordCount: 5, waitMs: 0, prompt: 10 };
  const body = { model: 'test/echo', messages: [{ role: 'user', content: JSON.stringify(script) }] };
  const send = () => naru.send('POST', '/chat/completions', { key: account.key, body });
  assert.equal((await send()).status, 200);
  await naru.settled();
  const before = await scrape(naru);
  cutter.down();
  assert.equal((await send()).status, 200);
  await new Promise((resolve) => setTimeout(resolve, 31_000));
  cutter.up();
  await naru.settled();
  await assertFires('NaruSettlementLag', before, await scrape(naru));
});

test('an engine that crashes, and one that does not start, raise alerts', async (t) => {
  const slots = [
    configuredEngine('crashing', { exitAfter: 1 }),
    configuredEngine('broken', { crashAtStart: 1 }),
  ];
  const { naru, call } = await startWithSlots(t, slots);
  const before = await scrape(naru);
  const rises = (slot: string, metric: string): Promise<true> =>
    eventually(`${metric} rises`, 120_000, async () => {
      await call(slot);
      return (await naru.metric(metric)) >= 3 ? true : null;
    });
  await rises('crashing', 'naru_slot_restarts_total');
  const after = await eventually('three starts failed', 120_000, async () => {
    await call('broken');
    const seen = await scrape(naru);
    return (seen.page.value('naru_slot_starts_total', { slot: 'broken', outcome: 'failed' }) ?? 0) >= 3
      ? seen
      : null;
  });
  await assertFires('NaruSlotCrashing', before, after);
  await assertFires('NaruSlotStartsFailing', before, after);
});

test('a queue that waits for its slot raises an alert', async (t) => {
  const upstream = await upstreamOf(t);
  const { naru, call } = await startWithSlots(t, [
    {
      ...{ name: 'slow', max_concurrency: 1 },
      external: { base_url: upstream.url.replace(/\/v1$/, ''), health_path: '/v1/models' },
    },
  ]);
  const hold = gate();
  upstream.respond(({ path }) => (path.startsWith('/v1/chat') ? reply.chat('네') : reply.json({ data: [] })));
  assert.equal(await call('slow'), 200);
  const before = await scrape(naru);
  const seen = upstream.requests.length;
  upstream.respond(({ path }) =>
    path.startsWith('/v1/chat') ? reply.chat('네').pauseAt(0, hold) : reply.json({ data: [] }),
  );
  const first = call('slow');
  await until('the lane is taken', () => upstream.requests.length > seen, 10_000);
  const waiting = Array.from({ length: 9 }, () => call('slow'));
  await new Promise((resolve) => setTimeout(resolve, 40_000));
  hold.open();
  await Promise.all([first, ...waiting]);
  await assertFires('NaruSlotQueueSlow', before, await scrape(naru));
});

test('backups that cannot be written, and drills that cannot read them, raise alerts', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'naru-broken-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'file'), '');
  const naru = await startTestGateway();
  t.after(() => naru.close());
  await naru.account();
  const clock = new TestClock();
  const backup = {
    schedule: { everyHours: 24, atMinute: 180 },
    drill: { schedule: { everyHours: 168, atMinute: 240 } },
    directory: join(folder, 'file/below'),
    s3: null,
    keep: { count: 14, ageDays: null },
    ...{ encryptionKey: null, maxAgeHours: 26 },
  } as const;
  const drill = { dataDir: folder, uid: process.getuid?.() ?? -1, env: process.env };
  const parts = { database: naru.database, clock, log: silentLog, version: '1', drill };
  clock.advance(8 * 86_400_000);
  const job = await BackupJob.open({ ...parts, config: () => backup });
  t.after(() => job.close());
  await job.runDue();
  const registry = backupMetrics({ config: () => backup, summaries: () => job.summaries });
  const page = parseExposition(await renderPage([await readRegistry(registry)]));
  const after = { page, atMs: clock.now() };
  const firing = firingAlerts(ruleFile, after, after);
  for (const alert of ['NaruBackupDrillFailed', 'NaruScheduledBackupOld'])
    assert.ok(firing.includes(alert), `${alert} does not fire, but ${firing.join()}`);
});

test('a candidate that stays drained for a day raises an alert', async (t) => {
  const upstream = await upstreamOf(t);
  const naru = await startTestGateway({ models: [{ id: 'test/echo', upstreams: [upstream.url] }] });
  t.after(() => naru.close());
  const before = await scrape(naru);
  const order = {
    model: 'test/echo',
    candidate: 'up1/upstream-echo',
    reason: 'broken',
    idempotencyKey: null,
  };
  await naru.operator.changeDrain({ ...order, drained: true });
  await until('it is drained', async () => (await naru.metric('naru_upstream_drained')) === 1, 10_000);
  await assertFires('NaruCandidateDrained', before, await scrape(naru), 26 * 60);
});

test('bodies that take all memory raise alerts', async (t) => {
  const upstream = await upstreamOf(t);
  const naru = await startTestGateway({
    models: [{ id: 'test/echo', upstreams: [upstream.url], model: { context_length: 100_000_000 } }],
    config: {
      limits: { ...{ memory_bytes: 40_000_000, body_bytes: 5_000_000, client_memory_percent: 100 } },
    },
  });
  t.after(() => naru.close());
  const { key } = await naru.account({ credit: '1000000000000' });
  const before = await scrape(naru);
  const held = gate();
  upstream.respond(() => reply.chat('네').pauseAt(0, held));
  const content = 'x'.repeat(1_000_000);
  const body = { model: 'test/echo', messages: [{ role: 'user', content }] };
  const sent: Promise<{ readonly status: number }>[] = [];
  const isFull = async (): Promise<boolean> => {
    const [bytes, limit] = [await naru.metric('naru_held_bytes'), await naru.metric('naru_held_bytes_limit')];
    return bytes > 0.8 * limit;
  };
  while (!(await isFull())) {
    const seen = upstream.requests.length;
    sent.push(naru.send('POST', '/chat/completions', { key, body }));
    await until('the upstream has it', () => upstream.requests.length > seen, 10_000);
    assert.ok(sent.length < 40);
  }
  await assertFires('NaruMemoryFull', before, await scrape(naru));
  const more = Array.from({ length: 20 }, () => naru.send('POST', '/chat/completions', { key, body }));
  assert.equal((await Promise.race(more)).status, 503);
  await assertFires('NaruRequestsShed', before, await scrape(naru));
  held.open();
  await Promise.all([...sent, ...more]);
});

test('two slots whose engines do not fit together raise an alert', async (t) => {
  const share = { gpus: ['0'], vram_mb: 6, min_resident_ms: 0 };
  const slots = ['one', 'two'].map((name) => ({ ...configuredEngine(name), ...share }));
  const { naru, call } = await startWithSlots(t, slots, { gpus: [{ id: '0', vram_mb: 10 }] });
  const before = await scrape(naru);
  await eventually('13 evictions', 120_000, async () => {
    for (const slot of ['one', 'two']) await call(slot);
    return (await naru.metric('naru_slot_evictions_total')) > 12 * 2 ? true : null;
  });
  await assertFires('NaruSlotThrashing', before, await scrape(naru));
});

test('a node that does not come back, and a journal of another database, raise alerts', async (t) => {
  const upstream = await upstreamOf(t);
  upstream.always(reply.chat('네', { usage: usage(10, 5) }));
  const models = [{ id: 'test/echo', upstreams: [upstream.url] }];
  const naru = await startTestGateway({ models });
  t.after(() => naru.close());
  const before = await scrape(naru);
  await naru.database.query(
    `INSERT INTO gateway_node (home, address, knows, seen_at)
     VALUES ($1, 'lost', 1000, now() - interval '1 minute')`,
    [randomUUID()],
  );
  await until('it counts as lost', async () => (await naru.metric('naru_lost_nodes')) === 1, 20_000);
  await assertFires('NaruLostNodes', before, await scrape(naru));

  const { key } = await naru.account();
  const held = gate();
  upstream.respond(() => reply.chat('네').pauseAt(0, held));
  const body = { model: 'test/echo', messages: [{ role: 'user', content: 'x' }] };
  const open = naru.send('POST', '/chat/completions', { key, body });
  await until('it is in the journal', () => upstream.requests.length === 1, 10_000);
  const copy = mkdtempSync(join(tmpdir(), 'naru-copy-'));
  cpSync(naru.dataDir, copy, { recursive: true });
  held.open();
  assert.equal((await open).status, 200);
  // The copied directory is started on another database.
  const other = await startTestGateway({
    models,
    after: { ...naru, dataDir: copy },
    address: await another(t),
  });
  t.after(async () => {
    await other.close();
    rmSync(copy, { recursive: true, force: true });
  });
  const there = await scrape(other);
  assert.ok(firingAlerts(ruleFile, there, there).includes('NaruForeignSegments'));
});

test('a certificate that is not renewed raises an alert', async (t) => {
  const fresh = await startCertificateServer(t, 60);
  const old = await startCertificateServer(t, 7);
  const scrapes = await Promise.all(
    [
      { auth: { public_url: fresh } },
      {
        admin: { host: '127.0.0.1', port: 0, public_url: old },
        edge: { trusted_proxies: ['127.0.0.1'] },
      },
    ].map(async (config) => {
      const naru = await startTestGateway({ config });
      t.after(() => naru.close());
      const name = 'naru_certificate_expiry_timestamp_seconds';
      await until('it is read', async () => (await naru.metric(name)) > 0, 10_000);
      return { ...(await scrape(naru)), atMs: Date.now() };
    }),
  );
  await assertFires('NaruCertificateExpiring', ...(scrapes as [Scrape, Scrape]));
});

/** Another database: those of tests are copies, also of the identity. */
async function another(t: TestContext): Promise<DatabaseAddress> {
  const { address, drop } = await createTestDatabase();
  t.after(drop);
  const database = new Database(address, 1);
  await database.query('UPDATE database_identity SET id = gen_random_uuid()');
  await database.close();
  return address;
}
