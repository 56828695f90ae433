import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { until } from '../../harness/until.ts';
import { createSite, type NaruProcess, type Site, startNaru } from '../naru-process.ts';
import type { Host } from './network.ts';

const run = promisify(execFile);
const port = 8787;
const adminPort = 8788;
/** Under load some settlements always wait. */
const fewSettlements = 40;

/** What all nodes of the drill share. */
export interface Surroundings {
  readonly databaseUrl: string;
  readonly proxy: Host;
  /** `HOST:PORT` of both upstreams. */
  readonly upstreams: readonly string[];
}

/** A gateway on a host of the drill. When it ends by itself it is started again, as systemd does. */
export class ScaleNode {
  readonly host: Host;
  readonly #site: Site;
  #naru: NaruProcess | null = null;
  #shouldRun = false;
  #restarts = 0;

  constructor(host: Host, around: Surroundings) {
    this.host = host;
    this.#site = createSite('', configFor(host, around), port);
  }

  /** `HOST:PORT` of its API. */
  get address(): string {
    return `${this.host.address}:${port}`;
  }

  /** How often it has ended by itself. */
  get restarts(): number {
    return this.#restarts;
  }

  async start(): Promise<void> {
    this.#shouldRun = true;
    const naru = await startNaru(this.#site, this.host.within);
    this.#naru = naru;
    void naru.ended.then(() => {
      if (!this.#shouldRun) return;
      this.#restarts += 1;
      return this.start();
    });
  }

  async kill(): Promise<void> {
    this.#shouldRun = false;
    await this.#naru?.kill();
  }

  async stop(): Promise<void> {
    this.#shouldRun = false;
    await this.#naru?.stop();
  }

  /** Whether `GET /readyz` returns 200 and the settlements reach the database. */
  async isHealthy(): Promise<boolean> {
    try {
      const signal = AbortSignal.timeout(1_000);
      if (!(await fetch(`http://${this.address}/readyz`, { signal })).ok) return false;
      return (await this.#backlog()) <= fewSettlements;
    } catch {
      return false;
    }
  }

  /** Resolves when no settlement waits. */
  async untilSettled(): Promise<void> {
    await until(`${this.host.name} is settled`, async () => (await this.#backlog()) === 0, 60_000);
  }

  async end(): Promise<void> {
    await this.kill();
    await this.#site.end();
  }

  /** The page of metrics is on the loopback address of its host. */
  async #backlog(): Promise<number> {
    const read = 'fetch(process.argv[1]).then((page) => page.text()).then((text) => console.log(text))';
    const [command = '', ...args] = [
      ...this.host.within,
      process.execPath,
      '-e',
      read,
      `http://127.0.0.1:${adminPort}/metrics`,
    ];
    const { stdout } = await run(command, args, { timeout: 20_000 });
    const value = /^naru_settlement_backlog(?:\{[^}]*\})? (\d+)$/m.exec(stdout)?.[1];
    return value === undefined ? Number.POSITIVE_INFINITY : Number(value);
  }
}

function configFor(host: Host, { databaseUrl, proxy, upstreams }: Surroundings): Record<string, unknown> {
  return {
    listen: { host: host.address, port },
    admin: { host: '127.0.0.1', port: adminPort },
    edge: { rate_limit: 'external', trusted_proxies: [proxy.address] },
    database: { url: databaseUrl },
    providers: upstreams.map((address, n) => ({
      slug: `up${n + 1}`,
      name: `Upstream ${n + 1}`,
      dialect: 'openai',
      base_url: `http://${address}/v1`,
      api_key: 'secret-of-up',
    })),
    models: [
      {
        id: 'test/echo',
        context_length: 32_768,
        price: { prompt: 0.013007, completion: 0.271, per: 'token' },
        candidates: upstreams.map((_, n) => ({ provider: `up${n + 1}`, model: 'echo' })),
      },
    ],
  };
}
