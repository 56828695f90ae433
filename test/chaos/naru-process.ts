import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import nodeEnv from '../../scripts/node-env.json' with { type: 'json' };
import nodeFlags from '../../scripts/node-flags.json' with { type: 'json' };
import type { OperatorService } from '../../src/operations/operator-service.ts';
import { attachEmbedded } from '../../src/postgres/embedded.ts';
import { readPidFile } from '../../src/postgres/pid-file.ts';
import { Database } from '../../src/store/database.ts';
import { copyEmptyCluster } from '../harness/empty-cluster.ts';
import { operatorOn } from '../harness/payer.ts';
import { program } from '../harness/program.ts';
import { until } from '../harness/until.ts';

const root = join(import.meta.dirname, '../..');
const readyLimitMs = 60_000;
const run = promisify(execFile);
/** The last process of each site, by its configuration file. */
const running = new Map<string, ChildProcess>();

/** A data directory and a configuration for real `naru up` processes, one after another. */
export interface Site {
  readonly dataDir: string;
  readonly configFile: string;
  /** The port of its processes; 0: any free one. */
  readonly port: number;
  /** What the processes wrote to stderr so far, in order. */
  readonly log: string[];
  /** Runs another `naru` command and returns its exit code and the JSON lines that it printed. */
  naru(...args: readonly string[]): Promise<{ readonly code: number; readonly lines: readonly JsonLine[] }>;
  /** Opens the database beside the server that runs. */
  openAccounting(): Promise<OpenAccounting>;
  /** Kills what still runs here, waits until its PostgreSQL is gone, and deletes everything. */
  end(): Promise<void>;
}

/** One line of `--json` output. */
// biome-ignore lint/suspicious/noExplicitAny: a test looks into output as a user would.
export type JsonLine = any;

/** The operator's side of a site. */
export interface OpenAccounting {
  readonly database: Database;
  readonly operator: OperatorService;
  close(): Promise<void>;
}

/** A `naru up` that serves. */
export interface NaruProcess {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly port: number;
  readonly adminPort: number;
  /** `http://127.0.0.1:PORT/api/v1` */
  readonly url: string;
  /** From the spawn to the line that reports its address. */
  readonly readyMs: number;
  /** Resolves with the exit code or the signal's name when the process is gone. */
  readonly ended: Promise<number | string>;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /** SIGTERM; resolves when it is gone. */
  stop(): Promise<number | string>;
}

/**
 * A site whose configuration has one model of one upstream; `over` is merged over the members of
 * naru.yaml. Its files lie in a new folder in `parent`.
 */
export function createSite(
  upstreamUrl: string,
  over: Readonly<Record<string, unknown>> = {},
  port = 0,
  parent = tmpdir(),
): Site {
  const folder = mkdtempSync(join(parent, 'naru-chaos-'));
  // When we are root PostgreSQL runs as another user, and must be able to traverse it.
  chmodSync(folder, 0o755);
  const configFile = join(folder, 'naru.yaml');
  const dataDir = join(folder, 'data');
  writeFileSync(configFile, JSON.stringify({ ...configFor(upstreamUrl), ...over }));
  if (!('database' in over)) copyEmptyCluster(dataDir);
  return {
    dataDir,
    configFile,
    port,
    log: [],
    async naru(...args) {
      const argv = [program(), ...args, '--json', '--config', configFile, '--data-dir', dataDir];
      const done = await run(process.execPath, argv, { cwd: root, maxBuffer: 2 ** 30 }).catch(
        (error) => error,
      );
      const lines = String(done.stdout).split('\n').filter(Boolean);
      if (lines.length === 0 && done.code) throw new Error(`naru ${args.join(' ')}: ${done.stderr}`);
      return { code: done.code ?? 0, lines: lines.map((line) => JSON.parse(line)) };
    },
    async openAccounting() {
      const connection = await attachEmbedded(dataDir);
      if (connection === null) throw new Error('no database runs on the data directory');
      const database = new Database(connection, 2);
      const operator = operatorOn(database);
      return { database, operator, close: () => database.close() };
    },
    async end() {
      const last = running.get(configFile);
      last?.kill('SIGKILL');
      if (last?.pid !== undefined) {
        const { pid } = last;
        await until('Naru is gone', () => !isRunning(pid), 10_000);
      }
      const postmaster = readPidFile(join(dataDir, 'postgres'))?.pid ?? null;
      if (postmaster !== null && isRunning(postmaster)) {
        process.kill(postmaster, 'SIGQUIT');
        await until('PostgreSQL is gone', () => !isRunning(postmaster), 30_000);
      }
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/**
 * Starts `naru up` on a site, under `wrapper` (a command and its arguments) if there is one; resolves
 * when it listens. `launched`: as `npm start` does, with a parent that starts it again; the process
 * is that parent.
 */
export async function startNaru(
  site: Site,
  wrapper: readonly string[] = [],
  launched = false,
): Promise<NaruProcess> {
  const startedMs = performance.now();
  const { child, pid, ended } = spawnUp(site, wrapper, launched);
  const { port, adminPort } = await Promise.race([
    listening(child),
    ended.then((how) => failed(site, how)),
    tooLate(site),
  ]);
  return {
    child,
    pid,
    port,
    adminPort,
    url: `http://127.0.0.1:${port}/api/v1`,
    readyMs: performance.now() - startedMs,
    ended,
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
    stop() {
      child.kill('SIGTERM');
      return ended;
    },
  };
}

/** Starts `naru up` and kills it so many milliseconds later, in any phase of its start. */
export async function killWhileStarting(site: Site, afterMs: number): Promise<void> {
  const { child, ended } = spawnUp(site, []);
  await new Promise((resolve) => setTimeout(resolve, afterMs));
  child.kill('SIGKILL');
  await ended;
}

/** The pid of the site's PostgreSQL; null when there is none. */
export function postmasterOf(site: Site): number | null {
  return readPidFile(join(site.dataDir, 'postgres'))?.pid ?? null;
}

/**
 * The processes that a process has started and that still run: of a postmaster, its backends and
 * helpers.
 */
export function childrenOf(pid: number): readonly number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      .trim()
      .split(' ')
      .filter(Boolean)
      .map(Number);
  } catch {
    return [];
  }
}

/** Whether a process runs; one that has ended and waits for its parent does not. */
export function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/** The price has six decimals a token, so that sums have something to lose. */
function configFor(upstreamUrl: string): object {
  return {
    admin: { host: '127.0.0.1', port: 0 },
    edge: { rate_limit: 'external', trusted_proxies: ['192.0.2.1'] },
    log: { level: 'warn' },
    providers: [
      { slug: 'up', name: 'Upstream', dialect: 'openai', base_url: upstreamUrl, api_key: 'secret-of-up' },
    ],
    models: [
      {
        id: 'test/echo',
        context_length: 32_768,
        price: { prompt: 0.013007, completion: 0.271, per: 'token' },
        candidates: [{ provider: 'up', model: 'echo' }],
      },
    ],
  };
}

function spawnUp(
  site: Site,
  wrapper: readonly string[],
  launched = false,
): { readonly child: ChildProcess; readonly pid: number; readonly ended: Promise<number | string> } {
  // As `npm start` runs it, without the wrapper: the killed process must be the server itself.
  const naru = launched ? [join(root, 'scripts/with-node.mjs'), 'src/main.ts'] : [...nodeFlags, program()];
  const up = [process.execPath, ...naru, 'up', '--json', '--workers', '1', '--port', String(site.port)];
  const paths = ['--config', site.configFile, '--data-dir', site.dataDir];
  const [command = '', ...args] = [...wrapper, ...up, ...paths];
  // The channel ends with this process, and Naru with the channel.
  const child = spawn(command, args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...process.env, ...nodeEnv },
  });
  running.set(site.configFile, child);
  child.stderr?.setEncoding('utf8').on('data', (text: string) => site.log.push(text));
  const ended = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string);
  ended.then((how) => {
    if (!child.killed) process.stderr.write(`naru up ended by itself with ${how}:\n${lastOutput(site)}\n`);
  });
  if (child.pid === undefined) throw new Error(`${command} could not be started`);
  return { child, pid: child.pid, ended };
}

function listening(child: ChildProcess): Promise<{ readonly port: number; readonly adminPort: number }> {
  return new Promise((resolve) => {
    if (child.stdout === null) return;
    createInterface(child.stdout).on('line', (text) => {
      const line = JSON.parse(text);
      if (line.event === 'listening')
        resolve({ port: Number(new URL(line.url).port), adminPort: line.admin_port });
    });
  });
}

function lastOutput(site: Site): string {
  return site.log.join('').slice(-2000);
}

function failed(site: Site, how: number | string): never {
  throw new Error(`naru up ended with ${how}:\n${lastOutput(site)}`);
}

function tooLate(site: Site): Promise<never> {
  return new Promise((_resolve, reject) => {
    setTimeout(() => reject(new Error(`naru up was not ready:\n${lastOutput(site)}`)), readyLimitMs).unref();
  });
}
