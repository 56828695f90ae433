import { readdirSync, readFileSync } from 'node:fs';
import { get } from 'node:http';
import type { OperatorService } from '../../../src/operations/operator-service.ts';
import type { DatabaseAddress } from '../../../src/store/connection.ts';
import { Database } from '../../../src/store/database.ts';
import { createTestDatabase } from '../../harness/database.ts';
import { freePort } from '../../harness/free-port.ts';
import { createPayer, operatorOn, type Payer } from '../../harness/payer.ts';
import { until } from '../../harness/until.ts';
import { startUpstream } from '../../harness/upstream.ts';
import { auditHistory, auditMemory, expectedRefusals, readJson, readLedger } from '../audit.ts';
import type { Sight } from '../client.ts';
import { createSite, type NaruProcess, type Site, startNaru } from '../naru-process.ts';
import { scriptedReply } from '../orders.ts';
import { type Cutter, startCutter } from '../proxy.ts';
import { faultsOf } from './goal.ts';

/** A real `naru up` with a paying account, and the operator's side of its database. */
export interface Stage {
  readonly site: Site;
  readonly naru: NaruProcess;
  readonly payers: readonly Payer[];
  /** Bypasses the cutter, if there is one. */
  readonly database: Database;
  readonly operator: OperatorService;
  /** Between the server and its database; null when that is the embedded one. */
  readonly cutter: Cutter | null;
  end(): Promise<void>;
}

/** The options of a stage. */
export interface StageOptions {
  /**
   * `embedded`: its own; `cutter`: one of the test server behind a cutter; an address: that one
   * behind a cutter.
   */
  readonly database: 'embedded' | 'cutter' | DatabaseAddress;
  /**
   * Models of upstreams in other processes, by id, beside the one that follows the orders of
   * `drawOrder`.
   */
  readonly beside?: Readonly<Record<string, string>>;
  readonly config?: Readonly<Record<string, unknown>>;
  /** Runs it below the parent that starts it again, as `npm start` does. */
  readonly launched?: boolean;
  /** Before anything starts. */
  readonly prepare?: (site: Site) => void;
}

/** Sets one up. */
export async function startStage(options: StageOptions): Promise<Stage> {
  const ends: (() => Promise<unknown>)[] = [];
  const end = async (): Promise<void> => {
    for (const one of ends.splice(0).reverse()) await one();
  };
  try {
    return await build(options, (one) => ends.push(one), end);
  } catch (error) {
    await end();
    throw error;
  }
}

async function build(
  options: StageOptions,
  later: (end: () => Promise<unknown>) => void,
  end: () => Promise<void>,
): Promise<Stage> {
  const upstream = await startUpstream();
  upstream.respond(({ body }) => scriptedReply(body));
  later(() => upstream.close());
  const behind = options.database === 'embedded' ? null : await openBehind(options.database, later);
  const url = behind === null ? {} : { database: { url: urlOf(behind.cutter.address) } };
  const { launched = false } = options;
  const over = { ...url, ...offer(upstream.url, options.beside ?? {}), ...options.config };
  const site = createSite(upstream.url, over, launched ? await freePort() : 0);
  later(() => site.end());
  options.prepare?.(site);
  const naru = await startNaru(site, [], launched);
  const ledger = behind === null ? await site.openAccounting() : behind;
  if (behind === null) later(() => ledger.database.close().catch(() => {}));
  const { database, operator } = ledger;
  const payers = [await createPayer(operator, '500000000', 2), await createPayer(operator, '400000000', 2)];
  for (const { key } of payers.flatMap((payer) => payer.keys)) await readJson(`${naru.url}/key`, key);
  return { site, naru, payers, database, operator, cutter: behind?.cutter ?? null, end };
}

async function openBehind(
  where: 'cutter' | DatabaseAddress,
  later: (end: () => Promise<unknown>) => void,
): Promise<{ readonly cutter: Cutter; readonly database: Database; readonly operator: OperatorService }> {
  const testDatabase = where === 'cutter' ? await createTestDatabase() : null;
  if (testDatabase !== null) later(() => testDatabase.drop());
  const address = testDatabase?.address ?? (where as DatabaseAddress);
  const cutter = await startCutter(address);
  later(() => cutter.close());
  const database = new Database(address, 2);
  later(() => database.close().catch(() => {}));
  const operator = operatorOn(database);
  return { cutter, database, operator };
}

/** The members of naru.yaml that offer the model of the orders, and others. */
function offer(echoUrl: string, beside: Readonly<Record<string, string>>): object {
  const all = [['test/echo', echoUrl], ...Object.entries(beside)] as const;
  return {
    providers: all.map(([, base_url], at) => ({
      slug: `up${at}`,
      name: `Upstream ${at}`,
      dialect: 'openai',
      base_url,
      api_key: providerKey,
    })),
    models: all.map(([id], at) => ({
      id,
      context_length: 32_768,
      price: { prompt: 0.013007, completion: 0.271, per: 'token' },
      candidates: [{ provider: `up${at}`, model: 'echo' }],
    })),
  };
}

/** What Naru sends only to its upstreams. */
export const providerKey = 'provider-key-canary-9be2';
/** The password is no use to a server that trusts, and must be found nowhere. */
export const databasePassword = 'db-password-canary-51c0';

function urlOf({ user, port, database }: DatabaseAddress): string {
  return `postgres://${user}:${databasePassword}@127.0.0.1:${port}/${database}`;
}

/**
 * Waits until ledger and memory agree with what clients received; at the limit, returns the
 * differences.
 */
export async function settleAndAudit(
  stage: Stage,
  sights: readonly Sight[],
  limitMs = 30_000,
): Promise<readonly string[]> {
  let faults: readonly string[] = ['never audited'];
  const look = async (): Promise<boolean> => {
    const accounting = await readLedger(stage.operator);
    const memory = await auditMemory(
      stage.naru.url,
      stage.payers,
      accounting.entries,
      accounting.generations,
    ).catch((error) => ({
      goal: 'memory can be read',
      counts: '',
      faults: [String(error)],
    }));
    const allowed = new Set([...expectedRefusals, 'server']);
    faults = faultsOf([...auditHistory(sights, accounting, allowed), memory]);
    return faults.length === 0;
  };
  await until('it agrees', async () => (await look()) || (await pause(500)), limitMs).catch(() => {});
  return faults;
}

/** A status without its body; 0 when there is no response within 3 s. */
export function statusOf(url: string, key?: string): Promise<number> {
  return new Promise((resolve) => {
    const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
    const request = get(url, { agent: false, headers, timeout: 3_000 }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    request.on('error', () => resolve(0)).on('timeout', () => request.destroy());
  });
}

/** Resident memory of a process, bytes. */
export function rssBytes(pid: number): number {
  const [, kib] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) * 1024;
}

/** The same in MiB, rounded. */
export function rssMib(pid: number): number {
  return Math.round(rssBytes(pid) / 1024 ** 2);
}

/** Open descriptors of a process. */
export function descriptorsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** The most resident memory a process has had while `during` ran, MiB. */
export async function peakRss<T>(
  pid: number,
  during: () => Promise<T>,
): Promise<{ readonly peak: number; readonly result: T }> {
  let peak = rssMib(pid);
  const timer = setInterval(() => {
    peak = Math.max(peak, rssMib(pid));
  }, 100);
  try {
    return { result: await during(), peak };
  } finally {
    clearInterval(timer);
  }
}

/** False, later. */
export async function pause(ms: number): Promise<false> {
  await new Promise((resolve) => setTimeout(resolve, ms));
  return false;
}
