import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type Agent, type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { KeyHash } from '../../src/accounts/api-key.ts';
import type { OperatorService } from '../../src/operations/operator-service.ts';
import { attachEmbedded } from '../../src/postgres/embedded.ts';
import { readPidFile } from '../../src/postgres/pid-file.ts';
import { Database } from '../../src/store/database.ts';
import { createInstallation, type Installation, type Serving } from '../cli/naru.ts';
import { echoConfig } from '../harness/echo-config.ts';
import { createOnePayer, operatorOn } from '../harness/payer.ts';
import { eventually } from '../harness/until.ts';
import { startUpstream, type Upstream } from '../harness/upstream.ts';

/**
 * A data directory for real `naru up --workers N` processes, one after another, with one upstream
 * behind them.
 */
export interface Site {
  readonly installation: Installation;
  readonly upstream: Upstream;
  start(workers: number): Promise<Team>;
}

/** A `naru up` that serves. */
export interface Team {
  readonly serving: Serving;
  readonly operator: OperatorService;
  readonly pid: number;
  readonly adminPort: number;
  /** The workers' pids now, in no order. */
  workers(): readonly number[];
  account(won: string): Promise<{ readonly accountId: number; readonly key: string; readonly hash: KeyHash }>;
  /** The lines of the log with this event. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into the log as an operator's script would.
  logged(event: string): readonly any[];
  /** SIGKILL to the parent, to all workers and, when they are done, waits for PostgreSQL to go. */
  killAll(): Promise<void>;
}

/** How a request ended: with a status, or with the connection. */
export interface Ended {
  readonly status: number | null;
  readonly text: string;
  readonly id: string | null;
}

/** 20 won: 10 prompt tokens at 1 won, 5 completion tokens at 2. */
export const costWon = 20;
export const chat = {
  model: 'test/echo',
  max_tokens: 5,
  messages: [{ role: 'user', content: 'hello there, my friend' }],
};

/** Everything is stopped and removed after the test. */
export async function createSite(t: Pick<TestContext, 'after'>, over: object = {}): Promise<Site> {
  const upstream = await startUpstream();
  const installation = createInstallation({ hasCluster: !('database' in over) });
  const teams: Serving[] = [];
  const file = installation.configure({
    edge: { rate_limit: 'external', trusted_proxies: ['192.0.2.1'] },
    limits: { debt_floor_krw: 0 },
    log: { level: 'info' },
    ...echoConfig(upstream.url),
    ...over,
  });
  t.after(async () => {
    for (const { child } of teams) child.kill('SIGKILL');
    await upstream.close();
    await databaseGone(installation);
    installation.remove();
  });
  return {
    installation: installation,
    upstream,
    async start(workers) {
      const serving = await installation.up('--json', '--config', file, '--workers', String(workers));
      teams.push(serving);
      return teamOf(t, installation, serving);
    },
  };
}

async function teamOf(
  t: Pick<TestContext, 'after'>,
  installation: Installation,
  serving: Serving,
): Promise<Team> {
  const connection = await attachEmbedded(installation.dataDir);
  assert.ok(connection !== null);
  const database = new Database(connection, 2);
  t.after(() => database.close().catch(() => {}));
  const operator = operatorOn(database);
  const pid = serving.child.pid ?? 0;
  const workers = (): readonly number[] =>
    childrenOf(pid).filter((child) => argumentsOf(child).includes('worker'));
  return {
    serving,
    operator,
    pid,
    adminPort: Number(/"admin_port":(\d+)/.exec(serving.out())?.[1]),
    workers,
    account: (won) => createOnePayer(operator, won),
    logged: (event) =>
      serving
        .err()
        .split('\n')
        .filter((line) => line.includes(`"event":"${event}"`))
        .map((line) => JSON.parse(line)),
    async killAll() {
      const all = [pid, ...workers()];
      for (const one of all) if (isRunning(one)) process.kill(one, 'SIGKILL');
      await eventually('all are gone', 10_000, () => (all.some(isRunning) ? null : true));
      await databaseGone(installation);
    },
  };
}

/**
 * Sends a chat request on a new connection, so that any worker may get it, unless an agent is
 * given.
 */
export function send(
  origin: string,
  key: string,
  body: object = chat,
  agent: Agent | false = false,
  path = '/api/v1/chat/completions',
): Promise<Ended> {
  return new Promise((resolve) => {
    let text = '';
    let received: IncomingMessage | null = null;
    const failed = (): void => resolve({ status: null, text, id: idOf(received) });
    const sent = request(
      `${origin}${path}`,
      {
        method: path.endsWith('completions') ? 'POST' : 'GET',
        agent,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      },
      (response) => {
        received = response;
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => {
          if (response.complete) resolve({ status: response.statusCode ?? null, text, id: idOf(response) });
          else failed();
        });
        response.on('error', failed);
      },
    );
    sent.on('error', failed);
    sent.end(path.endsWith('completions') ? JSON.stringify(body) : undefined);
  });
}

/** Many requests at once. */
export function requestAtOnce(team: Team, key: string, count: number): Promise<readonly Ended[]> {
  return Promise.all(Array.from({ length: count }, () => send(team.serving.origin, key)));
}

export function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/** What a metric is for each worker. */
export async function metricOf(adminPort: number, name: string): Promise<ReadonlyMap<string, number>> {
  const page = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
  const lines = page.matchAll(new RegExp(`^${name}\\{[^}]*worker="(\\d+)"\\} (\\S+)$`, 'gm'));
  return new Map([...lines].map(([, worker = '', value]) => [worker, Number(value)]));
}

/** Processes below another one, by /proc. */
export function childrenOf(pid: number): readonly number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    return text === '' ? [] : text.split(' ').map(Number);
  } catch {
    return [];
  }
}

function argumentsOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

function idOf(response: IncomingMessage | null): string | null {
  const id = response?.headers['x-service-generation-id'];
  return typeof id === 'string' ? id : null;
}

async function databaseGone(installation: Installation): Promise<void> {
  const postmaster = readPidFile(join(installation.dataDir, 'postgres'))?.pid ?? null;
  if (postmaster === null) return;
  await eventually('PostgreSQL is gone', 30_000, () => (isRunning(postmaster) ? null : true));
}
