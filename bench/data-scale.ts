/**
 * Whether what a database already has makes a call slower:
 *
 *   npm run bench:data [-- --rows 10000000] [--accounts 100000] [--rounds 3] [--seconds 5]
 *
 * Two databases on one server, one with ten thousand generations of a hundred accounts, one with as
 * many as stated; a gateway for each, which are measured in turn: whole responses at saturation and
 * at 1,000 requests a second, and the reads of an account. Exits 1 when a goal is missed. The load
 * takes about a minute for each million.
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { connect } from '../src/store/connection.ts';
import { Database } from '../src/store/database.ts';
import { systemClock } from '../src/time/clock.ts';
import { createTestDatabase, serverVariable, type TestDatabase, urlOf } from '../test/harness/database.ts';
import { insertPrice } from '../test/harness/price.ts';
import { startTestServer } from '../test/harness/test-server.ts';
import { LOAD_CORE, startChild } from './child.ts';
import { createPayers, loadGenerations, loadPayers } from './data-rows.ts';
import { tableOfGoals } from './goals.ts';
import type { LoadJob, LoadResult } from './load-run.ts';
import { type Load, measures, type Sample, sample } from './measure.ts';
import { median } from './median.ts';
import { type NaruTarget, naruTarget } from './target-naru.ts';

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '10000000' },
    accounts: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '5' },
  },
});
const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)];
const sizes = {
  few: { rows: 10_000, accounts: 100 },
  many: { rows: Number(values.rows), accounts: Number(values.accounts) },
};
type Size = keyof typeof sizes;
const days = 30;
const models = 40;
const readsPerSecond = 200;
const readSeconds = 8;
/** A saturated server settles the rest within a second; its rollups follow every ten. */
const settleMs = 12_000;
/** Of the saturated responses, and of each read: code runs slowly for its first seconds. */
const warmUpSeconds = 8;
const limitMs = 60_000;

interface Read {
  readonly name: string;
  readonly job: Pick<LoadJob, 'port' | 'path' | 'headers' | 'body'>;
}

const print = (line: string): void => void process.stdout.write(`${line}\n`);
process.exitCode = await main();

async function main(): Promise<number> {
  await using closing = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), 'naru-data-'));
  closing.defer(() => rmSync(directory, { recursive: true, force: true }));
  chmodSync(directory, 0o711);
  const server = await startTestServer(() => {});
  closing.defer(() => server.stop());
  process.env[serverVariable] = JSON.stringify(server.connection);
  const upstream = await child(closing, 'upstream', '../test/harness/fast-upstream.ts', /:(\d+)$/);
  const generator = await child(closing, 'load generator', 'load.ts', /^ready$/);
  const load: Load = async (job) => JSON.parse(await generator.request(JSON.stringify(job))) as LoadResult;
  print(`load average before: ${loadavg()[0]?.toFixed(2)}`);
  const gateways = new Map<Size, NaruTarget>();
  for (const size of ['few', 'many'] as const) {
    const database = await createTestDatabase();
    await fill(database, size);
    mkdirSync(join(directory, size), { mode: 0o711 });
    const ground = { upstreamPort: Number(upstream.started?.[1]), directory: join(directory, size) };
    const naru = await naruTarget(ground, { databaseUrl: urlOf(database.address) });
    closing.defer(() => naru.stop());
    gateways.set(size, naru);
  }
  // Awaited here: what was opened is closed when this function ends.
  return await measureAll(load, gateways);
}

async function child(closing: AsyncDisposableStack, name: string, file: string, ready: RegExp) {
  const command = [process.execPath, join(import.meta.dirname, file)];
  const started = await startChild({ name, command, core: LOAD_CORE, ready, limitMs });
  closing.defer(() => started.stop());
  return started;
}

async function fill({ address }: TestDatabase, size: Size): Promise<void> {
  const { rows, accounts } = sizes[size];
  const client = await connect(address, null);
  const database = new Database(address, 2);
  try {
    const priceVersion = await insertPrice(database, { prompt: 1_000n, completion: 3_000n });
    const payers = await createPayers(client, accounts);
    const spread = { rows, firstOf: accounts, accounts: payers, priceVersion, days, models };
    const loaded = { ...spread, nowMs: systemClock.now() };
    await loadPayers(client, loaded);
    const tookMs = await loadGenerations(database, client, loaded, () => {});
    print(
      `${rows.toLocaleString('en')} generations of ${accounts.toLocaleString('en')} accounts loaded in ${(tookMs / 1000).toFixed(0)} s`,
    );
  } finally {
    await client.end();
    await database.close();
  }
}

async function measureAll(load: Load, gateways: ReadonlyMap<Size, NaruTarget>): Promise<number> {
  const [whole, , , fast] = measures(1);
  if (whole === undefined || fast === undefined) throw new Error('there is no measure');
  const reads = new Map<Size, readonly Read[]>();
  for (const [size, naru] of gateways) {
    checked(await sample(load, naru, whole, warmUpSeconds));
    const own = await readsOf(naru);
    for (const read of own) checked(await load(jobOf(read, warmUpSeconds)));
    reads.set(size, own);
  }
  const found = new Map<string, number[]>();
  const note = (name: string, value: number): void =>
    void found.set(name, [...(found.get(name) ?? []), value]);
  for (let round = 0; round < rounds; round += 1)
    for (const [size, naru] of gateways) {
      const peak = checked(await sample(load, naru, whole, seconds));
      note(`${size} rate`, peak.perSecond);
      note(`${size} cpu`, peak.cpuUs ?? Number.NaN);
      note(`${size} p99`, checked(await sample(load, naru, fast, seconds)).p99Ms);
      // The reads share the core with the settlement of what came before.
      await sleep(settleMs);
      for (const read of reads.get(size) ?? [])
        note(`${size} ${read.name}`, checked(await load(jobOf(read, readSeconds))).p99Ms);
    }
  const of = (name: string): number => median(found.get(name) ?? []);
  for (const name of found.keys()) print(`${name}: ${of(name).toPrecision(3)}`);
  const ratio = (name: string): number => of(`many ${name}`) / of(`few ${name}`);
  const figures = [
    {
      wanted: { title: 'requests/s, of those with few rows', unit: '×', atLeast: 0.9 },
      value: ratio('rate'),
    },
    {
      wanted: { title: 'CPU of a request, of that with few rows', unit: '×', atMost: 1.1 },
      value: ratio('cpu'),
    },
    {
      wanted: { title: 'p99 at 1,000/s, of that with few rows', unit: '×', atMost: 1.1 },
      value: ratio('p99'),
    },
    ...(reads.get('many') ?? []).map(({ name }) => ({
      wanted: { title: `p99 of GET ${name}`, unit: 'ms' as const, atMost: 5 },
      value: of(`many ${name}`),
    })),
  ] as const;
  print(tableOfGoals(figures));
  return figures.every(({ wanted, value }) =>
    'atLeast' in wanted ? value >= wanted.atLeast : value <= wanted.atMost,
  )
    ? 0
    : 1;
}

function jobOf({ job }: Read, seconds: number): LoadJob {
  return { ...job, connections: 16, seconds, perSecond: readsPerSecond, chunks: null };
}

/** The reads of the account that is charged, and of its latest response. */
async function readsOf(naru: NaruTarget): Promise<readonly Read[]> {
  const { path, headers, body } = naru.jobOf('whole');
  const url = `http://127.0.0.1:${naru.port}`;
  const sent = { ...headers, 'content-type': 'application/json' };
  const response = await fetch(url + path, { method: 'POST', headers: sent, body });
  const { id } = (await response.json()) as { readonly id: string };
  const management = await naru.createManagementKey();
  const read = (name: string, key: string, query = ''): Read => ({
    name,
    job: {
      port: naru.port,
      path: `/api/v1${name}${query}`,
      headers: { authorization: `Bearer ${key}` },
      body: '',
    },
  });
  return [
    read('/generation', naru.key, `?id=${id}`),
    read('/key', naru.key),
    read('/credits', management),
    read('/keys', management),
  ];
}

function checked<T extends Pick<Sample, 'failures' | 'firstFailure'>>(result: T): T {
  if (result.failures > 0) throw new Error(`${result.failures} failed, first: ${result.firstFailure}`);
  return result;
}
