import assert from 'node:assert/strict';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { readPidFile } from '../../src/postgres/pid-file.ts';
import type { Installation } from '../cli/naru.ts';
import { echoConfig } from '../harness/echo-config.ts';
import { type Page, parseExposition } from '../harness/exposition.ts';
import { byTier, fullOnly, sample } from '../harness/tier.ts';
import { scaledLimit } from '../harness/time-limit.ts';
import { eventually } from '../harness/until.ts';
import { gate, reply, type Upstream, usage } from '../harness/upstream.ts';
import {
  chat,
  childrenOf,
  createSite,
  type Ended,
  isRunning,
  metricOf,
  requestAtOnce,
  send,
  type Team,
} from './worker-site.ts';

/* `naru up --workers N`: several processes of one machine that share a port, an embedded database and the engines. */

/** How many workers a test starts that names no number. */
const most = byTier(2, 3);

const response = () => reply.chat('hello there', { usage: usage(10, 5) });

const engineCode = `
  const body = { id: 'x', object: 'chat.completion', created: 1, model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } };
  require('node:http').createServer((request, response) =>
    response.setHeader('content-type', 'application/json').end(
      JSON.stringify(request.url.includes('completions') ? body : { data: [] }))
  ).listen(Number(process.argv[1]), '127.0.0.1');
`;
const localSlot = {
  slots: [
    {
      name: 'local',
      command: [process.execPath, '-e', engineCode, '{port}'],
      ready_path: '/v1/models',
      max_concurrency: 4,
    },
  ],
  models: [
    {
      id: 'test/echo',
      context_length: 32_768,
      price: { prompt: 1, completion: 2, per: 'token', confirm: true },
      candidates: [{ slot: 'local' }],
    },
  ],
};

/** `test/local` at the slot, beside `test/echo`. */
const withLocalModel = {
  slots: localSlot.slots,
  models: [...echoConfig('').models, { ...localSlot.models[0], id: 'test/local' }],
};

function counted(responses: readonly Ended[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status } of responses) counts[String(status)] = (counts[String(status)] ?? 0) + 1;
  return counts;
}

/**
 * The generations of an account that were charged, by id; an id that was charged twice fails the
 * test.
 */
async function chargedIn({ operator }: Team, accountId: number): Promise<ReadonlySet<string>> {
  const rows = await Array.fromAsync(operator.exportEntries(accountId));
  const charged = rows.flatMap(({ generationUuid }) => (generationUuid === null ? [] : [generationUuid]));
  assert.equal(new Set(charged).size, charged.length, 'a generation was charged twice');
  return new Set(charged);
}

/** Workers that have served requests, by the log. */
const workersResponding = (team: Team): ReadonlySet<number> =>
  new Set(team.logged('request').map(({ worker }) => worker));

/**
 * Several workers must have served, or the test proves nothing. Their log lines arrive a moment
 * later.
 */
const severalResponded = (team: Team) =>
  eventually('several workers have responded', 5_000, () => (workersResponding(team).size > 1 ? true : null));

async function serving(
  t: Pick<TestContext, 'after'>,
  workers = most,
  over: object = {},
): Promise<{ team: Team } & Awaited<ReturnType<typeof createSite>>> {
  const site = await createSite(t, over);
  site.upstream.always(response());
  return { ...site, team: await site.start(workers) };
}

describe('one server', () => {
  let site: Awaited<ReturnType<typeof serving>>;
  let team: Team;
  let installation: Installation;
  let upstream: Upstream;
  const cleanups: (() => void | Promise<void>)[] = [];
  before(async () => {
    const context = { after: (cleanup: () => void | Promise<void>) => void cleanups.push(cleanup) };
    site = await serving(context, most, withLocalModel);
    ({ team, installation, upstream } = site);
  });
  after(async () => {
    for (const cleanup of cleanups) await cleanup();
  });

  // pages:U9
  test('every worker is a node, serves requests and knows the slots; the admin port shows them all', async () => {
    assert.equal(team.serving.out().match(/"event":"listening"/g)?.length, 1);
    assert.equal(team.serving.out().match(/"event":"demo_account"/g)?.length, 1, 'one demo account');
    const { key, accountId } = await team.account('100000');
    await eventually('every worker has responded', 20_000, async () => {
      await requestAtOnce(team, key, 12);
      return workersResponding(team).size === most ? true : null;
    });
    const nodes = (await installation.json('node', 'list')).rows.filter(({ state }) => state === 'serving');
    assert.equal(new Set(nodes.map(({ node_id }) => node_id)).size, most);
    assert.equal(new Set(nodes.map(({ address }) => address)).size, 1);
    const numbers = Array.from({ length: most }, (_, n) => n + 1);
    for (const worker of numbers) {
      const mode = statSync(join(installation.dataDir, 'workers', String(worker), 'journal')).mode & 0o777;
      assert.equal(mode, 0o700);
    }
    // Counted each time: a line of the log may arrive after its response.
    const responded = (): number =>
      team.logged('request').filter(({ path }) => path.endsWith('/chat/completions')).length;
    assert.ok(responded() > 0);
    await eventually('all is charged', 10_000, async () =>
      (await chargedIn(team, accountId)).size === responded() ? true : null,
    );
    const { now: shown, open } = await consoleOf(team, installation);
    assert.deepEqual(shown.processes, { responding: most, expected: most });
    assert.deepEqual([open.processes, open.requests], [shown.processes, []]);
    const workers = shown.candidates
      .filter(({ candidate }: { candidate: string }) => candidate === 'up/echo')
      .map(({ worker }: { worker: number }) => worker);
    assert.deepEqual(workers.toSorted(), numbers);
    await assertSlotStates(team, installation, accountId);
  });

  // spec:api/21.5
  test('the workers of a server count the requests of a key together', async () => {
    const { accountId } = await team.account('100000');
    const { plaintext } = await team.operator.createKey({
      ...{ accountId, kind: 'inference', name: 'k', limit: null, limitReset: 'never', expiresAtMs: null },
      restrictions: { rpm_limit: 3 },
    });
    const minute = (): number => Math.floor(Date.now() / 60_000);
    const began = minute();
    const counts = counted(await requestAtOnce(team, plaintext, 24));
    const served = counts['200'] ?? 0;
    assert.ok(served >= 3 && served <= 3 * (minute() - began + 1), JSON.stringify(counts));
    assert.equal(served + (counts['429'] ?? 0), 24);
  });

  test('a killed worker loses only its own requests; it is replaced, and every response is billed once', async () => {
    const { key, accountId } = await team.account('1000000');
    const ended: Ended[] = [];
    let isOver = false;
    const clients = Array.from({ length: byTier(4, 12) }, async () => {
      for (; !isOver; await pause(byTier(10, 0))) ended.push(await send(team.serving.origin, key));
    });
    await eventually('all workers respond', 20_000, () =>
      workersResponding(team).size === most ? true : null,
    );
    const before = team.workers();
    assert.equal(before.length, most);
    const [victim = 0] = before;
    process.kill(victim, 'SIGKILL');
    await eventually('the worker is replaced', 20_000, () =>
      team.logged('worker_replaced').length === 1 ? true : null,
    );
    const since = ended.length;
    await eventually('the load goes on', 20_000, () => (ended.length > since + 50 ? true : null));
    isOver = true;
    await Promise.all(clients);
    assert.equal(team.workers().length, most);
    assert.deepEqual(
      before.filter((pid) => !team.workers().includes(pid)),
      [victim],
      'the others were not touched',
    );
    const lost = ended.filter(({ status }) => status === null).length;
    // A client has one request in flight, and one more that it sent before the kernel stopped
    // accepting.
    assert.ok(lost <= 24, `${lost} were lost`);
    assert.deepEqual(
      Object.keys(counted(ended)).filter((status) => status !== '200' && status !== 'null'),
      [],
    );
    const responded = ended.filter(({ status }) => status === 200).length;
    const charged = await eventually('every response is charged', 10_000, async () => {
      const { size } = await chargedIn(team, accountId);
      return size >= responded ? size : null;
    });
    assert.ok(charged <= responded + lost, `${charged} charged for ${responded} responses, ${lost} lost`);
    assert.deepEqual((await team.operator.verifyLedger()).differences, []);
  });

  // The streams of one process: test/edge/rolling-restart.test.ts; a parent that stops its workers:
  // worker-supervisor.test.ts.
  test('SIGTERM lets the streams of every worker end', fullOnly, async () => {
    const { key } = await team.account('1000000');
    const gates: ReturnType<typeof gate>[] = [];
    const requests: Promise<Ended>[] = [];
    // Until each worker has one: the kernel chooses the worker of a connection.
    const busy = new Set<string>();
    for (let n = 0; n < 60 && busy.size < most; n += 1) {
      const one = gate();
      gates.push(one);
      upstream.next(reply.stream(['some ', one, 'more'], { usage: usage(10, 5) }));
      requests.push(send(team.serving.origin, key, { ...chat, stream: true }));
      await one.reached;
      const inFlight = await metricOf(team.adminPort, 'naru_requests_in_flight');
      for (const [worker, count] of inFlight) if (count > 0) busy.add(worker);
    }
    assert.equal(busy.size, most);
    const ending = team.serving.stop();
    await eventually('it logs that it stops', 10_000, () =>
      /shutting down: waiting for/.test(team.serving.err()) ? true : null,
    );
    for (const one of gates) one.open();
    const ended = await Promise.all(requests);
    assert.deepEqual(counted(ended), { 200: requests.length });
    assert.ok(ended.every(({ text }) => text.includes('more') && text.includes('[DONE]')));
    assert.equal(await ending, 0);
    assert.deepEqual(team.workers(), []);
  });

  // In the full tier the server has ended, and each of these has its own.
  for (const [before, after] of byTier([[most, 1]] as const, []))
    test(recordsLeft(before, after), () => assertSettledBefore(after, site));
});

/** Every worker shows an owner the state of the slot, which the parent has. */
async function assertSlotStates(team: Team, installation: Installation, accountId: number): Promise<void> {
  const { origin } = team.serving;
  const { plaintext } = await team.operator.createKey({
    accountId,
    kind: 'management',
    name: 'k',
    limit: null,
    limitReset: 'never',
    expiresAtMs: null,
  });
  const signedIn = await fetch(`${origin}/dashboard/api/sign-in/key`, {
    method: 'POST',
    headers: { origin, 'content-type': 'application/json' },
    body: JSON.stringify({ key: plaintext }),
  });
  const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  const path = '/dashboard/api/models';
  const slotNow = async () => {
    const response = await fetch(`${origin}${path}`, { headers: { cookie, connection: 'close' } });
    assert.equal(response.status, 200);
    const { items } = (await response.json()) as { items: { id: string; candidates: { slot: object }[] }[] };
    return items.find(({ id }) => id === 'test/local')?.candidates[0]?.slot as Record<string, unknown>;
  };
  for (const state of ['COLD', 'READY']) {
    if (state === 'READY') assert.equal((await installation.run('slot', 'start', 'local')).code, 0);
    const seen = team.logged('request').length;
    await eventually(`every worker says ${state}`, 20_000, async () => {
      const slots = await Promise.all(Array.from({ length: 12 }, slotNow));
      // Pages share a reading of the parent for a moment.
      if (slots.some((slot) => slot?.['state'] !== state || slot['is_stale'] !== false)) return null;
      const lines = team.logged('request').slice(seen);
      const workers = lines.filter((line) => line.path === path).map(({ worker }) => worker);
      return new Set(workers).size === most ? true : null;
    });
  }
}

/** The page Now of the console, which the parent serves; signed in by the link of the command. */
async function consoleOf({ adminPort }: Team, installation: Installation) {
  const [{ url }] = (await installation.json('console')).rows;
  const origin = `http://127.0.0.1:${adminPort}`;
  const signedIn = await fetch(`${origin}/console/api/sign-in/link`, {
    method: 'POST',
    headers: { origin, 'content-type': 'application/json' },
    body: JSON.stringify({ token: url.split('#')[1] }),
  });
  const [cookie = ''] = signedIn.headers.getSetCookie();
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into bodies as a client would.
  const read = async (path: string): Promise<any> => {
    const response = await fetch(`${origin}/console/api${path}`, { headers: { cookie } });
    assert.equal(response.status, 200);
    return response.json();
  };
  return { now: await read('/now'), open: await read('/now/open') };
}

test(
  'the metrics are labelled by worker, health too; operator commands reach the parent',
  fullOnly,
  async (t) => {
    const { team, installation } = await serving(t, 2);
    const { adminPort } = team;
    const read = async (path: string) => (await fetch(`http://127.0.0.1:${adminPort}${path}`)).text();
    const { key } = await team.account('100000');
    const byWorker = await eventually('both have responded', 20_000, async () => {
      await Promise.all(Array.from({ length: 6 }, () => send(team.serving.origin, key)));
      const attempts = await metricOf(adminPort, 'naru_upstream_attempts');
      return [...attempts.values()].filter((value) => value > 0).length === 2 ? attempts : null;
    });
    assert.deepEqual([...byWorker.keys()], ['1', '2']);
    const page = await read('/metrics');
    assert.match(page, /^naru_workers 2$/m);
    assert.match(page, /^naru_worker_restarts_total 0$/m);
    assertConsistent(parseExposition(page));
    const health = await installation.json('route', 'health');
    assert.deepEqual(
      health.rows.map(({ worker }) => worker),
      [1, 2],
    );
    const refused = await installation.run('route', 'explain', '--model', 'no/such');
    assert.equal(refused.code, 1);
    assert.match(refused.err, /no\/such is not a valid model id/);
    const [route] = (await installation.json('route', 'explain', '--model', 'test/echo')).rows;
    assert.deepEqual([route.worker, route.health], [1, 'live']);
    for (const path of ['/route', '/route/health'])
      assert.equal((await fetch(`http://127.0.0.1:${adminPort}${path}`)).status, 404, path);
    const backup = await installation.json('backup', '--to', join(installation.folder, 'copy'));
    assert.equal(backup.code, 0, backup.err);
  },
);

/**
 * Each metric of a worker has a series of each, the parent's have none of them, and a histogram has
 * all lines of each.
 */
function assertConsistent({ types, series }: Page): void {
  const workersOf = (name: string): readonly string[] =>
    [
      ...new Set(series.filter((one) => one.name === name).map((one) => one.labels['worker'] ?? '')),
    ].toSorted();
  for (const name of ['naru_requests_total', 'naru_requests_in_flight', 'naru_settlement_backlog'])
    assert.deepEqual(workersOf(name), ['1', '2'], name);
  for (const name of ['naru_request_duration_seconds', 'naru_settlement_lag_seconds', 'naru_cost_won'])
    for (const suffix of ['bucket', 'sum', 'count'])
      assert.deepEqual(workersOf(`${name}_${suffix}`), ['1', '2'], name);
  assert.deepEqual(workersOf('process_resident_memory_bytes'), ['1', '2', 'parent']);
  assert.deepEqual([workersOf('naru_workers'), workersOf('naru_slot_demand')], [[''], []]);
  assert.equal(types.get('naru_slot_demand'), 'gauge');
}

test(
  'a worker that cannot start is retried less and less often, while the others serve',
  fullOnly,
  async (t) => {
    const { team, installation } = await serving(t, 2);
    const { key } = await team.account('1000000');
    const journal = join(installation.dataDir, 'workers/1/journal');
    rmSync(journal, { recursive: true });
    writeFileSync(journal, 'not a folder');
    for (const worker of team.workers()) process.kill(worker, 'SIGKILL');
    const ends = await eventually('it ends again and again', 30_000, () => {
      const of1 = team.logged('worker_ended').filter(({ ended }) => ended === 1);
      return of1.length >= 4 ? of1.map(({ again_in_ms: again }) => again) : null;
    });
    assert.deepEqual(ends.slice(0, 4), [0, 250, 500, 1000]);
    assert.ok(team.logged('worker_failed').length >= 3, 'why, is in the log');
    await eventually('the other one serves', 20_000, async () =>
      (await send(team.serving.origin, key)).status === 200 ? true : null,
    );
    rmSync(journal);
    await eventually('both serve', 30_000, () => {
      const replaced = new Set(team.logged('worker_replaced').map((line) => line.replaced));
      return replaced.size === 2 ? true : null;
    });
    assert.equal(await team.serving.stop(), 0);
  },
);

test('an invalid number of workers is rejected before any process starts', async (t) => {
  const { installation } = await createSite(t);
  const config = join(installation.folder, 'naru.yaml');
  // A port of its own: the usual one may be in use on this machine.
  const up = (count: string) => installation.run('up', '--config', config, '--port', '0', '--workers', count);
  for (const count of sample(['0', '-1', 'two', '1.5', '129', '1e3'], 2)) {
    const { code, err } = await up(count);
    assert.deepEqual([code, /whole number from 1 to 128/.test(err)], [2, true], err);
  }
  const { code, err } = await up('17');
  assert.equal(code, 1);
  assert.match(err, /--workers 17: the embedded database supports at most 16; .*database\.url/);
});

test(
  'a start in which a worker cannot serve fails with the reason, and leaves no process',
  fullOnly,
  async (t) => {
    const { team, installation, start } = await serving(t, 2);
    assert.equal(await team.serving.stop(), 0);
    const journal = join(installation.dataDir, 'workers/2/journal');
    rmSync(journal, { recursive: true });
    writeFileSync(journal, 'not a folder');
    await assert.rejects(start(2), /naru up ended with 1: [\s\S]*EEXIST|ENOTDIR/);
    rmSync(journal);
    assert.equal(await (await start(2)).serving.stop(), 0);
  },
);

test(
  'fifty cold requests over three workers start one engine; killing the parent ends workers and engine',
  fullOnly,
  async (t) => {
    const { team, installation } = await serving(t, 3, localSlot);
    const { key } = await team.account('1000000');
    const responses = await requestAtOnce(team, key, 50);
    assert.deepEqual(counted(responses), { 200: 50 });
    await severalResponded(team);
    const [slot] = (await installation.json('slot', 'list')).rows;
    assert.deepEqual([slot.state, slot.starts, slot.in_flight, slot.queued], ['READY', 1, 0, 0]);
    const all = [...team.workers(), Number(slot.pid)];
    assert.equal(all.length, 4);
    process.kill(team.pid, 'SIGKILL');
    await eventually('no worker serves', 10_000, () => (all.some(isRunning) ? null : true));
  },
);

test('workers that are drained one after the other, under load, lose no request', fullOnly, async (t) => {
  const { team } = await serving(t);
  const { key, accountId } = await team.account('1000000');
  const ended: Ended[] = [];
  let isOver = false;
  const clients = Array.from({ length: 8 }, async () => {
    while (!isOver) ended.push(await send(team.serving.origin, key));
  });
  await eventually('all workers respond', 20_000, () =>
    workersResponding(team).size === most ? true : null,
  );
  const before = team.workers();
  for (const [at, worker] of before.entries()) {
    process.kill(worker, 'SIGTERM');
    await eventually('it is replaced', 30_000, () =>
      team.logged('worker_replaced').length === at + 1 ? true : null,
    );
  }
  isOver = true;
  await Promise.all(clients);
  assert.deepEqual(counted(ended), { 200: ended.length });
  assert.deepEqual(
    before.filter((pid) => team.workers().includes(pid)),
    [],
  );
  await eventually('every response is charged', 10_000, async () =>
    (await chargedIn(team, accountId)).size === ended.length ? true : null,
  );
  assert.equal(await team.serving.stop(), 0);
});

test('a second SIGTERM cuts what is in flight in every worker', fullOnly, async (t) => {
  const { team, upstream } = await serving(t, 2);
  const { key } = await team.account('1000000');
  upstream.always(reply.stream(['some ', gate(), 'more'], { usage: usage(10, 5) }));
  const sent = Array.from({ length: 8 }, () => send(team.serving.origin, key, { ...chat, stream: true }));
  await upstream.request(8);
  const ending = team.serving.stop();
  await eventually('it logs that it stops', 10_000, () =>
    /waiting for 8 requests/.test(team.serving.err()) ? true : null,
  );
  // Within half a second a second signal counts as the same one, received twice.
  await new Promise((resolve) => setTimeout(resolve, scaledLimit(600)));
  team.serving.child.kill('SIGTERM');
  assert.equal(await ending, 0);
  for (const { status, text } of await Promise.all(sent)) {
    assert.equal(status, 200, 'the stream ends in order, with an error in it');
    assert.match(text, /"finish_reason":"error"/);
    assert.doesNotMatch(text, /more/);
  }
});

test('SIGHUP reaches every worker, and a file with faults none', fullOnly, async (t) => {
  const { team, installation, upstream } = await serving(t, 2);
  const { key } = await team.account('1000000');
  const model = (id: string) => ({
    id,
    context_length: 32_768,
    price: { prompt: 1, completion: 2, per: 'token', confirm: true },
    candidates: [{ provider: 'up', model: 'echo' }],
  });
  const file = join(installation.folder, 'naru.yaml');
  const tree = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, JSON.stringify({ ...tree, models: [model('test/echo'), model('test/new')] }));
  team.serving.child.kill('SIGHUP');
  await eventually('it is reloaded', 10_000, () =>
    /reloaded: models/.test(team.serving.err()) ? true : null,
  );
  const renewed = await Promise.all(
    Array.from({ length: 30 }, () => send(team.serving.origin, key, { ...chat, model: 'test/new' })),
  );
  assert.deepEqual(counted(renewed), { 200: 30 });
  await eventually('both have offered it', 20_000, async () => {
    const { status } = await send(team.serving.origin, key, { ...chat, model: 'test/new' });
    assert.equal(status, 200);
    return workersResponding(team).size === 2 ? true : null;
  });
  writeFileSync(file, '{"models": [');
  team.serving.child.kill('SIGHUP');
  await eventually('it is refused', 10_000, () => (/not reloaded/.test(team.serving.err()) ? true : null));
  writeFileSync(file, JSON.stringify({ ...tree, listen: { ...tree.listen, host: '127.0.0.2' } }));
  team.serving.child.kill('SIGHUP');
  await eventually('another address is refused', 10_000, () =>
    /not reloaded.*`listen` changed: that takes a restart/.test(team.serving.err()) ? true : null,
  );
  // A worker that starts now begins with the served configuration, not with the file.
  for (const worker of team.workers()) process.kill(worker, 'SIGKILL');
  await eventually('both are replaced', 20_000, () =>
    team.logged('worker_replaced').length === 2 ? true : null,
  );
  const later = await send(team.serving.origin, key, { ...chat, model: 'test/new' });
  assert.equal(later.status, 200, later.text);
  assert.ok(upstream.requests.length >= 31);
  assert.equal(await team.serving.stop(), 0);
});

for (const [before, after] of byTier([], [
  [3, 1],
  [1, 2],
  [3, 2],
] as const))
  test(recordsLeft(before, after), async (t) => assertSettledBefore(after, await serving(t, before)));

function recordsLeft(before: number, after: number): string {
  return `records that ${before} processes left in their journals are settled before ${after} serve`;
}

/** Kills a server with responses that are only in the journals, and starts `after` workers. */
async function assertSettledBefore(
  after: number,
  { team, upstream, start, installation }: Awaited<ReturnType<typeof serving>>,
): Promise<void> {
  const { key, accountId } = await team.account('1000000');
  const seen = upstream.requests.length;
  const gates = Array.from({ length: 8 }, () => gate());
  for (const one of gates) upstream.next(response().pauseAt(0, one));
  const pending = gates.map(() => send(team.serving.origin, key));
  await Promise.all(gates.map(({ reached }) => reached));
  for (let n = 0; n < 4; n += 1) upstream.next(reply.stream(['some ', gate(), 'more']));
  const cut = Array.from({ length: 4 }, () => send(team.serving.origin, key, { ...chat, stream: true }));
  await upstream.request(seen + 12);
  // The database is paused: responses completed now are only in the journals.
  const postgres = postgresOf(installation.dataDir);
  for (const pid of postgres) process.kill(pid, 'SIGSTOP');
  for (const one of gates) one.open();
  const responded = await Promise.all(pending);
  for (const pid of [team.pid, ...team.workers()]) process.kill(pid, 'SIGKILL');
  for (const pid of postgres) process.kill(pid, 'SIGCONT');
  assert.deepEqual(counted(responded), { 200: 8 });
  await Promise.all(cut);
  await team.killAll();
  upstream.always(response());
  const next = await start(after);
  const charged = await chargedIn(next, accountId);
  assert.equal(charged.size, 8, 'charged before the next request');
  const generations = await Array.fromAsync(next.operator.exportGenerations(accountId));
  assert.equal(generations.length, 12, 'what was in flight is on record too');
  assert.deepEqual((await next.operator.verifyLedger()).differences, []);
  const nodes = await next.operator.readNodes();
  assert.equal(nodes.length, after, 'nodes without a successor are taken out');
  assert.equal((await send(next.serving.origin, key)).status, 200);
  assert.equal(await next.serving.stop(), 0);
}

function postgresOf(dataDir: string): readonly number[] {
  const postmaster = readPidFile(join(dataDir, 'postgres'))?.pid ?? assert.fail('no PostgreSQL');
  return [postmaster, ...childrenOf(postmaster)];
}
