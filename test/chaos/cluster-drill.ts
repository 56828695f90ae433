import { setTimeout as sleep } from 'node:timers/promises';
import { krwFromDecimal } from '../../src/money/krw.ts';
import { createOperatorService, type OperatorService } from '../../src/operations/operator-service.ts';
import type { DatabaseAddress } from '../../src/store/connection.ts';
import { Database } from '../../src/store/database.ts';
import { systemClock } from '../../src/time/clock.ts';
import { createDistributed, dropDistributed } from '../harness/citus.ts';
import { createPayer, type Payer } from '../harness/payer.ts';
import { until } from '../harness/until.ts';
import { startUpstream } from '../harness/upstream.ts';
import { auditHistory, auditMemory, expectedRefusals, exportLedger, type Goal, readJson } from './audit.ts';
import type { Sight } from './client.ts';
import { type Delays, SettlementProbe } from './cluster-probe.ts';
import { findServer } from './cluster-server.ts';
import { type Load, startLoad } from './load.ts';
import { createSite, type NaruProcess, type Site, startNaru } from './naru-process.ts';
import { scriptedReply } from './orders.ts';

/** A run of the drill. */
export interface ClusterDrill {
  readonly coordinator: DatabaseAddress;
  readonly workers: readonly DatabaseAddress[];
  /** The name of the database that is created and dropped. */
  readonly database: string;
  readonly seed: number;
  /** How long a server is away. */
  readonly awayMs: number;
  readonly print: (line: string) => void;
}

/** How soon a settlement of a server that is there is committed. */
const settledWithinMs = 2_000;
const changedWithinMs = 1_000;

/** Kills a worker and then the coordinator of a cluster that two gateways serve from. */
export async function runClusterDrill(drill: ClusterDrill): Promise<readonly Goal[]> {
  const upstream = await startUpstream();
  upstream.respond(({ body }) => scriptedReply(body));
  const sites: Site[] = [];
  try {
    drill.print('... distributes a database');
    await createDistributed(drill.coordinator, drill.database);
    const { host, port, user } = drill.coordinator;
    const url = `postgres://${user}@${host}:${port}/${drill.database}`;
    for (let n = 0; n < 4; n += 1) sites.push(createSite(upstream.url, { database: { url } }));
    return await new Drill(drill, sites).run();
  } finally {
    for (const site of sites) await site.end();
    await upstream.close();
    await dropDistributed(drill.coordinator, drill.database);
  }
}

/** Accounts by the server that has them. */
interface Accounts {
  /** On servers that stay, and on the one that is killed. */
  readonly here: readonly Payer[];
  readonly gone: readonly Payer[];
  /** Keys that no gateway has seen, of accounts that stay. */
  readonly unknown: readonly Payer[];
}

class Drill {
  readonly #drill: ClusterDrill;
  readonly #sites: readonly Site[];
  readonly #database: Database;
  readonly #operator: OperatorService;
  readonly #goals: Goal[] = [];

  constructor(drill: ClusterDrill, sites: readonly Site[]) {
    this.#drill = drill;
    this.#sites = sites;
    this.#database = new Database({ ...drill.coordinator, database: drill.database }, 4);
    const parts = { clock: systemClock, keyPrefix: 'sk-naru-', close: async () => {} };
    this.#operator = createOperatorService(this.#database, parts);
  }

  async run(): Promise<readonly Goal[]> {
    const { print, seed, coordinator } = this.#drill;
    try {
      await this.#database.place();
      const accounts = await this.#open();
      const [first, second] = [await this.#start(0), await this.#start(1)];
      const payers = [...accounts.here, ...accounts.gone];
      const loads = [first, second].map((naru, n) =>
        startLoad(naru.url, payers, { clients: 6, seed: seed + n, name: `g${n}`, mayWait: true }),
      );
      // It is killed with the worker: its journal has charges of the worker's accounts then.
      const doomed = await this.#start(3);
      const doomedLoad = startLoad(doomed.url, accounts.gone, {
        clients: 6,
        seed: seed + 2,
        name: 'g3',
        mayWait: true,
      });
      const probe = new SettlementProbe(first.url, this.#database, { ...accounts });
      print('... load on two gateways');
      await sleep(5_000);
      await this.#check('credit expires', () => this.#expiry(second, accounts.unknown[3]));
      await this.#withoutWorker([first, second], accounts, { probe, loads, doomed, doomedLoad });
      await sleep(5_000);
      await this.#withoutServer(coordinator, 'coordinator');
      await sleep(5_000);
      await Promise.all([...loads, doomedLoad].map((load) => load.stop()));
      await probe.stop();
      const sights = [...[...loads, doomedLoad].flatMap((load) => [...load.sights]), ...probe.sights];
      await this.#audit([first, second], payers, sights);
      await first.stop();
      await second.stop();
      return this.#goals;
    } finally {
      await this.#database.close();
    }
  }

  async #open(): Promise<Accounts> {
    const [last] = this.#drill.workers.slice(-1);
    const accounts = { here: [] as Payer[], gone: [] as Payer[], unknown: [] as Payer[] };
    const { placement } = this.#database;
    const doomed = placement.servers.find(({ name }) => name === `${last?.host}:${last?.port}`);
    while (accounts.here.length < 8 || accounts.gone.length < 8 || accounts.unknown.length < 4) {
      const payer = await createPayer(this.#operator, '10000000', 1);
      if (doomed?.parts.includes(placement.partOf(payer.accountId)) === true) accounts.gone.push(payer);
      else (accounts.here.length < 8 ? accounts.here : accounts.unknown).push(payer);
    }
    return { ...accounts, gone: accounts.gone.slice(0, 8) };
  }

  #start(n: number): Promise<NaruProcess> {
    const site = this.#sites[n];
    if (site === undefined) throw new Error(`there is no site ${n}`);
    return startNaru(site);
  }

  /** The load goes on while a worker is killed; everything that needs other servers goes on too. */
  async #withoutWorker(
    narus: readonly NaruProcess[],
    accounts: Accounts,
    {
      probe,
      loads,
      doomed,
      doomedLoad,
    }: {
      readonly probe: SettlementProbe;
      readonly loads: readonly Load[];
      readonly doomed: NaruProcess;
      readonly doomedLoad: Load;
    },
  ): Promise<void> {
    const { awayMs, print, workers } = this.#drill;
    const [last] = workers.slice(-1);
    if (last === undefined) throw new Error('there is no worker');
    const worker = await findServer(last);
    const before = probe.take();
    const seen = loads.map(({ sights }) => sights.length);
    print(`... kills the worker ${worker.name} for ${awayMs / 1000} s`);
    worker.kill();
    const killedMs = performance.now();
    await doomed.kill();
    doomedLoad.cease();
    let recovering: NaruProcess | null = null;
    try {
      await this.#check('a gateway names the server that is away', () => this.#isNamed(narus, worker.name));
      await this.#check('unknown keys authenticate', () => this.#unknownKeys(narus, accounts));
      await this.#check('a top-up and a revocation reach both gateways within 1 s', () =>
        this.#changes(narus, accounts),
      );
      await this.#check('credit expires while a worker is away', () =>
        this.#expiry(narus[0], accounts.unknown[1]),
      );
      await this.#check('a new gateway starts and serves', () => this.#newGateway(accounts));
      await this.#check('a gateway with charges of the worker in its journal starts and serves', async () => {
        recovering = await this.#start(3);
        return this.#recovering(recovering, accounts);
      });
      await sleep(Math.max(0, awayMs - (performance.now() - killedMs)));
    } finally {
      await worker.start();
    }
    const backMs = performance.now();
    const during = probe.take();
    this.#addRefusals(
      loads.flatMap(({ sights }, n) => sights.slice(seen[n])),
      accounts,
    );
    this.#addDelays('before the kill', before);
    this.#addDelays('while a worker was away', during);
    await until('accounts of the worker settle', () => probe.isGoneSettled, 60_000);
    const settledMs = performance.now() - backMs;
    await this.#check('the charges of its journal are settled once the worker is back', async () => {
      if (recovering === null) throw new Error('it did not start');
      const naru: NaruProcess = recovering;
      await until('they are settled', () => isSettled(naru), 60_000);
      await naru.stop();
      return `within ${Math.round(performance.now() - backMs)} ms`;
    });
    this.#goals.push({
      goal: 'accounts of the killed worker settle once it is back',
      counts: `${Math.round(settledMs)} ms after it accepted connections`,
      faults: [],
    });
  }

  async #withoutServer(address: DatabaseAddress, what: string): Promise<void> {
    const server = await findServer(address);
    this.#drill.print(`... kills the ${what} ${server.name} for ${this.#drill.awayMs / 1000} s`);
    server.kill();
    await sleep(this.#drill.awayMs);
    await server.start();
  }

  /** Only the load's own faults, of accounts that stay. */
  #addRefusals(sights: readonly Sight[], { here }: Accounts): void {
    const ids = new Set(here.map(({ accountId }) => accountId));
    const own = sights.filter(({ order }) => ids.has(order.accountId));
    this.#goals.push({
      goal: 'no request of accounts of the other servers fails while a worker is away',
      counts: `${own.length} requests; ${sights.length - own.length} of accounts of the worker`,
      faults: own
        .filter(({ errorType }) => errorType === 'server')
        .map(({ order, status }) => `${order.tag}: ${status}`),
    });
  }

  #addDelays(when: string, { here }: Delays): void {
    const sorted = here.toSorted((a, b) => a - b);
    const at = (share: number): number => Math.round(sorted[Math.ceil(share * sorted.length) - 1] ?? 0);
    const slow = sorted.filter((ms) => ms > settledWithinMs);
    this.#goals.push({
      goal: `accounts of the other servers are settled within ${settledWithinMs / 1000} s ${when}`,
      counts: `${sorted.length} settlements, ms: p50 ${at(0.5)}, p99 ${at(0.99)}, most ${at(1)}`,
      faults: [...(sorted.length === 0 ? ['none'] : []), ...slow.map((ms) => `${Math.round(ms)} ms`)],
    });
  }

  async #check(goal: string, work: () => Promise<string>): Promise<void> {
    const counts = await work().then(
      (found) => ({ counts: found, faults: [] }),
      (error: Error) => ({ counts: 'failed', faults: [error.message] }),
    );
    this.#goals.push({ goal, ...counts });
  }

  async #isNamed(narus: readonly NaruProcess[], name: string): Promise<string> {
    const waits = narus.map(async ({ port, adminPort }) => {
      const ready = () => fetch(`http://127.0.0.1:${port}/readyz`).then((response) => response.json());
      await until('/readyz names shards', async () => 'shards_away' in ((await ready()) as object), 6_000);
      const page = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
      const value = new RegExp(`^naru_database_shards_away\\{server="${name}"\\} (\\d+)`, 'm').exec(
        page,
      )?.[1];
      if (!(Number(value) > 0)) throw new Error(`the metrics have ${value} shards of ${name} as away`);
      return value;
    });
    const counts = await Promise.all(waits);
    const { lines } = (await this.#sites[0]?.naru('doctor')) ?? { lines: [] };
    if (!JSON.stringify(lines).includes(`${name} does not respond`))
      throw new Error(`doctor does not name ${name}: ${JSON.stringify(lines)}`);
    return `${counts.join(' and ')} shards of ${name}: /readyz, metrics and doctor`;
  }

  async #unknownKeys(narus: readonly NaruProcess[], { unknown }: Accounts): Promise<string> {
    const delays: number[] = [];
    for (const naru of narus)
      for (const payer of unknown.slice(0, 3)) {
        const beganMs = performance.now();
        await readJson(`${naru.url}/credits`, payer.keys[0]?.key ?? '');
        delays.push(Math.round(performance.now() - beganMs));
      }
    return `${delays.length} keys, ms: ${delays.join(' ')}`;
  }

  async #changes(narus: readonly NaruProcess[], { unknown: [payer] }: Accounts): Promise<string> {
    if (payer === undefined) throw new Error('there is no account');
    const [key, amount] = [payer.keys[0], krwFromDecimal('5')];
    if (key === undefined || amount === null) throw new Error('there is no key');
    const credits = (naru: NaruProcess) => readJson(`${naru.url}/credits`, key.key);
    const before = await Promise.all(narus.map(credits));
    const grant = { accountId: payer.accountId, kind: 'topup', amount, expiresAtMs: null } as const;
    const toppedUpMs = performance.now();
    await this.#operator.grantCredit({ ...grant, idempotencyKey: null, memo: null });
    for (const [n, naru] of narus.entries())
      await until(
        'the top-up arrives',
        async () => (await credits(naru)).data.total_credits === before[n].data.total_credits + 5,
        5_000,
      );
    const topUpMs = Math.round(performance.now() - toppedUpMs);
    const revokedMs = performance.now();
    await this.#operator.revokeKey(key.hash);
    for (const naru of narus)
      await until(
        'the key is rejected',
        () =>
          credits(naru).then(
            () => false,
            () => true,
          ),
        5_000,
      );
    const revocationMs = Math.round(performance.now() - revokedMs);
    if (Math.max(topUpMs, revocationMs) > changedWithinMs)
      throw new Error(`${topUpMs} and ${revocationMs} ms`);
    return `${topUpMs} and ${revocationMs} ms`;
  }

  async #expiry(naru: NaruProcess | undefined, payer: Payer | undefined): Promise<string> {
    const amount = krwFromDecimal('7');
    if (payer === undefined || naru === undefined || amount === null) throw new Error('there is no account');
    const expiresAtMs = Date.now() + 1_500;
    const usage = async () =>
      (await readJson(`${naru.url}/credits`, payer.keys[0]?.key ?? '')).data.total_usage;
    const before = await usage();
    const grant = { accountId: payer.accountId, kind: 'bonus', amount, expiresAtMs } as const;
    await this.#operator.grantCredit({ ...grant, idempotencyKey: null, memo: null });
    await until('credit expires', async () => (await usage()) === before + 7, 15_000);
    return `${Math.round(Date.now() - expiresAtMs)} ms after its expiry`;
  }

  async #newGateway({ here }: Accounts): Promise<string> {
    const third = await this.#start(2);
    const { data } = await readJson(`${third.url}/credits`, here[0]?.keys[0]?.key ?? '');
    if (!(data.total_credits > 0)) throw new Error('it serves no account');
    const readyMs = Math.round(third.readyMs);
    await third.stop();
    return `after ${readyMs} ms`;
  }

  /** Charges of a shard that is away wait; the gateway serves the others. */
  async #recovering(naru: NaruProcess, { here }: Accounts): Promise<string> {
    const { data } = await readJson(`${naru.url}/credits`, here[0]?.keys[0]?.key ?? '');
    if (!(data.total_credits > 0)) throw new Error('it serves no account');
    const waiting = (this.#sites[3]?.log ?? []).join('').match(/"recovery_waits_for_shard".*/g) ?? [];
    const charges = waiting.reduce((sum, line) => sum + Number(/"settlements":(\d+)/.exec(line)?.[1]), 0);
    if (!(charges > 0)) throw new Error('its journal had no charges of the worker');
    return `after ${Math.round(naru.readyMs)} ms, with ${charges} charges of ${waiting.length} shards waiting`;
  }

  async #audit(
    narus: readonly NaruProcess[],
    payers: readonly Payer[],
    sights: readonly Sight[],
  ): Promise<void> {
    const [site] = this.#sites;
    const [naru] = narus;
    if (site === undefined || naru === undefined) throw new Error('there is no site');
    for (const each of narus) await until('it is settled', () => isSettled(each), 60_000);
    const ledger = await exportLedger(site);
    this.#goals.push(
      ...auditHistory(sights, ledger, new Set([...expectedRefusals, 'server'])),
      await auditMemory(naru.url, payers, ledger.entries, ledger.generations),
    );
  }
}

async function isSettled({ adminPort }: NaruProcess): Promise<boolean> {
  const page = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
  return (
    /^naru_settlement_backlog(?:\{[^}]*\})? 0$/m.test(page) &&
    /^naru_requests_in_flight(?:\{[^}]*\})? 0$/m.test(page)
  );
}
