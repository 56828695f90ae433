import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { Agent } from 'node:http';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Database } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { createTestDatabase } from '../harness/database.ts';
import type { TestGateway } from '../harness/gateway.ts';
import { createPayer, operatorOn, type Payer } from '../harness/payer.ts';
import { byTier } from '../harness/tier.ts';
import { until } from '../harness/until.ts';
import { gate, reply, startUpstream, type Upstream } from '../harness/upstream.ts';
import { assertMet, auditHistory, auditMemory, expectedRefusals, readLedger } from './audit.ts';
import { type OrderedRequest, request } from './client.ts';
import { startLoad } from './load.ts';
import { createSite, type NaruProcess, type Site, startNaru } from './naru-process.ts';
import { scriptedReply } from './orders.ts';
import { type Cutter, startCutter } from './proxy.ts';

interface Running {
  readonly site: Site;
  readonly naru: NaruProcess;
  readonly cutter: Cutter;
  readonly operator: TestGateway['operator'];
  readonly upstream: Upstream;
  readonly payers: readonly Payer[];
}

/** A real `naru up` on a database behind a cutter: its data directory has only the journal. */
async function start(t: TestContext): Promise<Running> {
  const testDatabase = await createTestDatabase();
  const cutter = await startCutter(testDatabase.address);
  const database = new Database(testDatabase.address, 2);
  await migrate(database);
  const operator = operatorOn(database);
  const upstream = await startUpstream();
  upstream.respond(({ body }) => scriptedReply(body));
  const url = `postgres://${testDatabase.address.user}@127.0.0.1:${cutter.port}/${testDatabase.address.database}`;
  const site = createSite(upstream.url, { database: { url } });
  const payers = [await createPayer(operator, '50000000', 2)];
  t.after(async () => {
    await site.end();
    await database.close();
    await cutter.close();
    await upstream.close();
    await testDatabase.drop();
  });
  const naru = await startNaru(site);
  return { site, naru, cutter, operator, upstream, payers };
}

/** As on a full disk: writes of the process beyond this many bytes of a file fail. */
function limitFiles({ pid }: NaruProcess, bytes: number | 'unlimited'): void {
  const run = spawnSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:`], { encoding: 'utf8' });
  assert.equal(run.status, 0, `prlimit of util-linux: ${run.error ?? run.stderr}`);
}

const options = process.platform === 'linux' ? {} : { skip: 'needs prlimit' };

// spec:conformance/227,228
test(
  'when neither journal nor database can be written, a response ends as a failure and costs nothing; when only the journal cannot, no request fails',
  options,
  async (t) => {
    const { site, naru, cutter, operator, upstream, payers } = await start(t);
    const [whole, streamed] = [gate(), gate()];
    upstream.next(reply.whole('never billed').pauseAt(0, whole));
    const key = payers[0]?.keys[0]?.key ?? assert.fail('no key');
    const order = (stream: boolean): OrderedRequest => ({
      tag: stream ? 'streamed' : 'whole',
      accountId: payers[0]?.accountId ?? 0,
      key,
      path: '/chat/completions',
      body: { model: 'test/echo', messages: [{ role: 'user', content: 'hello' }], stream },
      leaveAfterMs: null,
    });
    const agent = new Agent();
    const first = request(naru.url, order(false), agent);
    await whole.reached;
    upstream.next(reply.stream(['not ', 'billed ', streamed, 'either']));
    const second = request(naru.url, order(true), agent);
    await streamed.reached;
    limitFiles(naru, 8192);
    cutter.down();
    whole.open();
    streamed.open();
    const sights = await Promise.all([first, second]);
    assert.deepEqual(
      sights.map((sight) => [sight.kind, sight.status, sight.errorType]),
      [
        ['refused', 500, 'server'],
        ['errored', 200, 'server'],
      ],
    );
    limitFiles(naru, 'unlimited');
    cutter.up();
    await until(
      'both are on record',
      async () => (await readLedger(operator)).generations.length === 2,
      10_000,
    );
    const { generations } = await readLedger(operator);
    assert.deepEqual(
      generations.map((record) => [record.status, record.error_type, record.cost_krw]),
      Array(2).fill([500, 'server', '0.000000']),
    );
    await assertExact({ naru, operator, payers }, sights, new Set(['server']));

    upstream.respond(({ body }) => scriptedReply(body));
    const load = startLoad(naru.url, payers, {
      clients: byTier(2, 8),
      seed: 21,
      name: 'load',
      mayWait: true,
      pauseMs: byTier(15, 0),
    });
    await until('it serves', () => load.sights.length > byTier(20, 50), 10_000);
    limitFiles(naru, 8192);
    const at = load.sights.length;
    await until('it serves without its journal', () => load.sights.length > at + byTier(40, 150), 20_000);
    limitFiles(naru, 'unlimited');
    await sleep(1_200);
    await load.stop();
    assert.deepEqual(
      load.sights.filter(({ errorType }) => errorType === 'server'),
      [],
    );
    await assertExact(
      { naru, operator, payers },
      [...sights, ...load.sights],
      new Set([...expectedRefusals, 'server']),
    );
    assert.equal(await naru.stop(), 0);
    assert.doesNotMatch(site.log.join(''), /no live record/, 'no request is settled twice');
  },
);

async function assertExact(
  { naru, operator, payers }: Pick<Running, 'naru' | 'operator' | 'payers'>,
  sights: Parameters<typeof auditHistory>[0],
  allowed: ReadonlySet<string> | undefined,
): Promise<void> {
  await until(
    'memory and ledger agree',
    async () => {
      const ledger = await readLedger(operator);
      return (
        auditHistory(sights, ledger, allowed).every((goal) => goal.faults.length === 0) &&
        (await auditMemory(naru.url, payers, ledger.entries, ledger.generations)).faults.length === 0
      );
    },
    5_000,
  ).catch(async () => {
    const accounting = await readLedger(operator);
    const memory = await auditMemory(naru.url, payers, accounting.entries, accounting.generations);
    assertMet([...auditHistory(sights, accounting, allowed), memory]);
  });
}
