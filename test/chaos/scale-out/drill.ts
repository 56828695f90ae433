import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { createOperatorService } from '../../../src/operations/operator-service.ts';
import { Database } from '../../../src/store/database.ts';
import { systemClock } from '../../../src/time/clock.ts';
import { type Nginx, startNginx } from '../../edge/nginx.ts';
import { createPayer, type Payer } from '../../harness/payer.ts';
import { until } from '../../harness/until.ts';
import { auditHistory, auditMemory, expectedRefusals, type Goal, readLedger } from '../audit.ts';
import { type Helper, startHelperUnder } from '../goals/helper.ts';
import { type Load, startLoad } from '../load.ts';
import { behindProxy, type Figures, figuresOf, hasFailed, moneyLost, rowOf } from './figures.ts';
import { type Host, type Network, openNetwork } from './network.ts';
import { ScaleNode } from './node.ts';
import { type Pair, type PairServer, startSynchronousPair } from './postgres-pair.ts';

/** A run of the drill. */
export interface ScaleOutDrill {
  readonly seed: number;
  /** How long a part is away. */
  readonly awayMs: number;
  readonly clients: number;
  /** Only the parts whose name contains it. */
  readonly only: string;
  readonly print: (line: string) => void;
}

const hostNames = ['node1', 'node2', 'node3', 'primary', 'standby', 'nginx', 'up1', 'up2'] as const;
const upstreamPort = 9000;
const nginxPort = 8080;
const recoverWithinMs = 120_000;
/** What clients may get, besides what the load provokes, while a part is away. */
const allowed = new Set([...expectedRefusals, 'server', 'no_available_provider']);

/** What breaks a part and brings it back; `backFrom` names the instant that recovery counts from. */
interface Step {
  readonly part: string;
  readonly backFrom: string;
  breakIt(): Promise<void> | void;
  /** Resolves when the part serves again; null: it does not come back. */
  readonly bringBack: (() => Promise<void> | void) | null;
  /** Requests that may fail: each client has one in flight. Null: those of a moment. */
  readonly maxFailed: number | null;
}

/**
 * Three gateways behind nginx, PostgreSQL with a synchronous standby and two upstreams, each on a
 * host of its own: each part is killed in turn under a constant load. Needs root.
 */
export async function runScaleOutDrill(drill: ScaleOutDrill): Promise<readonly Goal[]> {
  const network = openNetwork(hostNames);
  const open: (() => Promise<void>)[] = [async () => network.close()];
  try {
    return await new Drill(drill, network, open).run();
  } finally {
    for (const close of open.toReversed()) await close();
  }
}

class Drill {
  readonly #drill: ScaleOutDrill;
  readonly #network: Network;
  readonly #open: (() => Promise<void>)[];
  readonly #goals: Goal[] = [];
  readonly #rows: string[] = [];
  readonly #upstreams = new Map<string, Helper>();
  #nodes: readonly ScaleNode[] = [];
  #nginx: Nginx | null = null;

  constructor(drill: ScaleOutDrill, network: Network, open: (() => Promise<void>)[]) {
    this.#drill = drill;
    this.#network = network;
    this.#open = open;
  }

  async run(): Promise<readonly Goal[]> {
    const { print, clients, seed } = this.#drill;
    print('... starts PostgreSQL and its standby, three nodes, nginx and two upstreams');
    const pair = await this.#startParts();
    const payers = await withOperator(pair.primary, async ({ operator }) => [
      await createPayer(operator, '100000000', 2),
      await createPayer(operator, '70000000.123456', 2),
    ]);
    const url = `http://${this.#host('nginx').address}:${nginxPort}/api/v1`;
    // A pause keeps the load constant: the clients do not use up a machine that serves all parts.
    const load = startLoad(url, payers, { clients, seed, name: 'load', mayWait: true, pauseMs: 50 });
    await sleep(this.#drill.awayMs);
    const steps = this.#steps(pair).filter(({ part }) => part.includes(this.#drill.only));
    for (const step of steps) await this.#run(step, load);
    await load.stop();
    await this.#audit(pair.standby, payers, load, url);
    for (const row of this.#rows) print(row);
    return this.#goals;
  }

  async #startParts(): Promise<Pair> {
    const pair = await startSynchronousPair(
      { primary: this.#host('primary'), standby: this.#host('standby') },
      this.#network.range,
    );
    this.#open.push(() => pair.stop());
    this.#network.moveFloating(this.#host('primary'));
    for (const name of ['up1', 'up2']) await this.#startUpstream(name);
    this.#open.push(async () => {
      for (const upstream of this.#upstreams.values()) await upstream.end();
    });
    const around = {
      databaseUrl: `postgres://naru@${this.#network.floating}:5432/postgres?sslmode=disable`,
      proxy: this.#host('nginx'),
      upstreams: ['up1', 'up2'].map((name) => `${this.#host(name).address}:${upstreamPort}`),
    };
    this.#nodes = ['node1', 'node2', 'node3'].map((name) => new ScaleNode(this.#host(name), around));
    this.#open.push(async () => {
      for (const node of this.#nodes) await node.end();
    });
    for (const node of this.#nodes) await node.start();
    const { within } = this.#host('nginx');
    for (const setting of kernelSettings) execFileSync('ip', [...within.slice(1), 'sysctl', '-qw', setting]);
    await this.#startNginx();
    this.#open.push(async () => this.#nginx?.stop());
    return pair;
  }

  #steps(pair: Pair): readonly Step[] {
    const { clients } = this.#drill;
    const nodes = this.#nodes.map((node) => ({
      part: `${node.host.name}: killed`,
      backFrom: 'its start',
      breakIt: () => node.kill(),
      bringBack: () => node.start(),
      maxFailed: clients,
    }));
    const [cut] = this.#nodes.slice(-1);
    if (cut === undefined) throw new Error('there is no node');
    return [
      ...nodes,
      {
        part: 'nginx: stopped and started',
        backFrom: 'its stop',
        breakIt: async () => this.#nginx?.stop(),
        bringBack: () => this.#startNginx(),
        maxFailed: null,
      },
      {
        part: 'one of two upstreams: killed',
        backFrom: 'its start',
        breakIt: () => this.#upstreams.get('up1')?.kill(),
        bringBack: async () => {
          await (await this.#startUpstream('up1')).next();
        },
        maxFailed: clients,
      },
      {
        part: `${cut.host.name}: its network cut`,
        backFrom: 'the repair',
        breakIt: () => cut.host.cut(),
        bringBack: () => cut.host.mend(),
        maxFailed: null,
      },
      {
        part: 'the standby: killed',
        backFrom: 'its start',
        breakIt: () => pair.standby.kill(),
        bringBack: async () => {
          await pair.standby.start();
          await pair.untilSynchronous();
        },
        maxFailed: null,
      },
      {
        part: 'the primary: killed, the standby promoted',
        backFrom: 'the kill',
        breakIt: async () => {
          await pair.primary.kill();
          await pair.standby.query('SELECT pg_promote(true)');
          this.#network.moveFloating(pair.standby.host);
        },
        bringBack: null,
        maxFailed: null,
      },
    ];
  }

  /** Breaks a part for a while, and waits until everything serves again. */
  async #run(step: Step, load: Load): Promise<void> {
    const { print, awayMs } = this.#drill;
    print(`... ${step.part}`);
    const faultMs = performance.now();
    await step.breakIt();
    let backFromMs = faultMs;
    if (step.bringBack !== null) {
      if (step.backFrom !== 'its stop') {
        await sleep(awayMs);
        backFromMs = performance.now();
      }
      await step.bringBack();
    }
    await until(
      `all nodes serve after: ${step.part}`,
      async () => (await Promise.all(this.#nodes.map((node) => node.isHealthy()))).every(Boolean),
      recoverWithinMs,
    );
    const backMs = performance.now() - backFromMs;
    const quietMs = performance.now();
    await sleep(awayMs);
    const endMs = performance.now();
    const { part, backFrom, maxFailed } = step;
    const figures = figuresOf(load.sights, { part, backFrom, backMs, faultMs, endMs });
    this.#rows.push(rowOf(figures));
    this.#goals.push(goalOf(figures, maxFailed), {
      goal: `no request fails once everything serves after: ${part}`,
      counts: `${load.sights.filter(({ beganMs }) => beganMs > quietMs).length} requests`,
      faults: load.sights
        .filter((one) => one.beganMs > quietMs && hasFailed(one))
        .map(({ order }) => order.tag),
    });
  }

  async #audit(at: PairServer, payers: readonly Payer[], load: Load, url: string): Promise<void> {
    for (const node of this.#nodes) await node.untilSettled();
    await withOperator(at, async ({ operator }) => {
      const ledger = await readLedger(operator);
      const sights = load.sights.map(behindProxy);
      this.#goals.push(
        ...auditHistory(sights, ledger, allowed),
        moneyLost(sights, ledger),
        await auditMemory(url, payers, ledger.entries, ledger.generations),
      );
    });
    for (const node of this.#nodes) await node.stop();
  }

  async #startNginx(): Promise<void> {
    const { address: host, within } = this.#host('nginx');
    const behind = this.#nodes.map(({ address }) => address);
    this.#nginx = await startNginx({ behind, unlimited: true, at: { host, port: nginxPort }, under: within });
  }

  async #startUpstream(name: string): Promise<Helper> {
    const { address, within } = this.#host(name);
    const file = 'test/chaos/scale-out/upstream-child.ts';
    const helper = await startHelperUnder(within, file, address, String(upstreamPort));
    this.#upstreams.set(name, helper);
    return helper;
  }

  #host(name: string): Host {
    return this.#network.host(name);
  }
}

/**
 * On the host of nginx, as docs/operating.md asks for: a connection to a host that is gone ends
 * after some seconds and not after a quarter of an hour.
 */
const kernelSettings = ['net.ipv4.tcp_retries2=5'];

function goalOf(figures: Figures, maxFailed: number | null): Goal {
  const { part, requests, failed, backMs, backFrom } = figures;
  const most = maxFailed === null ? '' : `, at most ${maxFailed} may fail`;
  return {
    goal: `everything serves again after: ${part}`,
    counts: `${requests} requests, ${failed} failed${most}; ${(backMs / 1000).toFixed(1)} s after ${backFrom}`,
    faults: maxFailed !== null && failed > maxFailed ? [`${failed} failed`] : [],
  };
}

async function withOperator<T>(
  at: PairServer,
  use: (open: { readonly operator: ReturnType<typeof createOperatorService> }) => Promise<T>,
): Promise<T> {
  const database = new Database(at.address, 2);
  const parts = { clock: systemClock, keyPrefix: 'sk-naru-', close: async () => {} };
  try {
    return await use({ operator: createOperatorService(database, parts) });
  } finally {
    await database.close();
  }
}
