/** The slots in the console: what they do, and what admins do with them. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { configuredEngine } from '../harness/fake-engine.ts';
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../harness/gateway.ts';
import { PageBrowser, TestSessions } from '../harness/pages.ts';
import { scaledLimit } from '../harness/time-limit.ts';
import { eventually, until } from '../harness/until.ts';

const sessions = new TestSessions();
let gateway: TestGateway;
let admin: PageBrowser;

before(async () => {
  const slot = (name: string) => ({
    ...configuredEngine(name, { spamMb: 0.001 }),
    gpus: ['0'],
    vram_mb: 8_000,
    min_resident_ms: 0,
  });
  gateway = await startTestGateway({
    sessions,
    config: { gpus: [{ id: '0', vram_mb: 10_000 }], slots: [slot('one'), slot('two')] },
  });
  admin = new PageBrowser(
    `http://127.0.0.1:${gateway.gateway.admin.port}`,
    'console',
    sessions.operator('admin'),
  );
});
after(() => gateway?.close());

async function stateOf(name: string): Promise<string> {
  const { slots } = await admin.get('/slots');
  return slots.find((slot: { name: string }) => slot.name === name).state;
}

function becomes(name: string, state: string): Promise<unknown> {
  return eventually(`${name} is ${state}`, scaledLimit(20_000), async () =>
    (await stateOf(name)) === state ? true : null,
  );
}

// pages:A6
test('a slot is started, pinned, kept although another one wants its memory, and stopped', async () => {
  assert.equal((await admin.send('POST', '/slots/none/start', { body: {} })).status, 404);
  assert.equal((await admin.send('POST', '/slots/one/pin', { body: { pinned: true } })).status, 200);
  await becomes('one', 'READY');
  const { slots, gpus } = await admin.get('/slots');
  assert.equal(slots[0].pinned, true);
  assert.equal(slots[0].start_durations_ms.length, 1);
  assert.deepEqual(slots[0].replicas[0].gpus, ['0']);
  assert.ok(slots[0].replicas[0].pid > 0);
  assert.deepEqual(gpus, [{ id: '0', budget_mb: 10_000, reserved_mb: 8_000, used_mb: gpus[0].used_mb }]);

  assert.equal((await admin.send('POST', '/slots/two/start', { body: {} })).json.state, 'ADMITTING');
  // An engine that is not pinned is evicted at once: it has no minimum residency.
  assert.equal(await stateOf('one'), 'READY');
  await admin.send('POST', '/slots/one/pin', { body: { pinned: false, reason: 'two is wanted' } });
  await becomes('two', 'READY');
  await admin.send('POST', '/slots/two/stop', { body: { drain_s: 0, reason: 'maintenance' } });
  await becomes('two', 'COLD');

  const { items } = await admin.get('/audit');
  const acts = items.map(({ act, subject, reason }: Record<string, unknown>) => [act, subject, reason]);
  assert.deepEqual(acts.toReversed(), [
    ['slot.pin', 'one', null],
    ['slot.start', 'two', null],
    ['slot.pin', 'one', 'two is wanted'],
    ['slot.stop', 'two', 'maintenance'],
  ]);
  assert.deepEqual([items[1].before, items[1].after], [{ pinned: true }, { pinned: false }]);
});

// pages:A6
test('a slot that does not start is nowhere normal, and its uptime is kept over a restart', async () => {
  const options: TestGatewayOptions = {
    sessions,
    models: [{ id: 'test/local', upstreams: [], model: { candidates: [{ slot: 'dead' }] } }],
    config: { slots: [{ name: 'dead', command: ['naru-no-such-engine', '{port}'] }] },
  };
  const broken = await startTestGateway(options);
  try {
    const own = await broken.account();
    for (let starts = 1; starts <= 2; starts += 1) {
      broken.gateway.slots.start('dead');
      await until(`start ${starts} fails`, () => broken.gateway.slots.status('dead').failures === starts);
    }
    const console = (one: TestGateway, path: string) =>
      new PageBrowser(
        `http://127.0.0.1:${one.gateway.admin.port}`,
        'console',
        sessions.operator('admin'),
      ).get(path);
    assert.equal((await console(broken, '/slots')).slots[0].failures, 2);
    assert.equal((await console(broken, '/candidates')).candidates[0].health[0].failures_in_a_row, 2);
    const now = await console(broken, '/now');
    assert.deepEqual([now.slots[0].failures, now.candidates[0].failures_in_a_row], [2, 2]);
    const [preview] = (await console(broken, '/route?models=test/local')).candidates;
    assert.match(preview.why, /its last 2 attempts failed/);
    const owner = new PageBrowser(broken.origin, 'dashboard', sessions.owner(own.accountId));
    const uptime = async (browser: PageBrowser) => {
      const [{ candidates }] = (await browser.get('/models')).items;
      return [candidates[0].uptime_1d, candidates[0].slot.is_failing];
    };
    assert.deepEqual(await uptime(owner), [0, true]);
    await broken.stop();
    const later = await startTestGateway({ ...options, after: broken });
    try {
      const again = new PageBrowser(later.origin, 'dashboard', sessions.owner(own.accountId));
      assert.deepEqual(await uptime(again), [0, false], 'nothing was started yet');
    } finally {
      await later.close();
    }
  } finally {
    await broken.close();
  }
});

// pages:A6
test('an admin reads what an engine wrote, nobody else', async () => {
  await admin.send('POST', '/slots/one/start', { body: {} });
  await becomes('one', 'READY');
  await eventually('the log has lines', 20_000, async () => {
    const log = await admin.get('/slots/one/log?lines=5');
    return log.starts.length >= 1 && log.lines.length > 0 ? true : null;
  });
  const support = new PageBrowser(
    `http://127.0.0.1:${gateway.gateway.admin.port}`,
    'console',
    sessions.operator('support'),
  );
  assert.equal((await support.send('GET', '/slots/one/log')).status, 403);
  assert.equal((await support.send('POST', '/slots/one/stop', { body: {} })).status, 403);
});
