import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createPayer, type Payer } from '../harness/payer.ts';
import { scaledLimit } from '../harness/time-limit.ts';
import { startUpstream } from '../harness/upstream.ts';
import { auditHistory, auditMemory, expectedRefusals, type Goal, readLedger } from './audit.ts';
import type { Sight } from './client.ts';
import { startLoad } from './load.ts';
import {
  childrenOf,
  createSite,
  isRunning,
  killWhileStarting,
  type NaruProcess,
  type OpenAccounting,
  postmasterOf,
  type Site,
  startNaru,
} from './naru-process.ts';
import { between, type Random, randomFrom, scriptedReply } from './orders.ts';

/** The options of a run of kills. */
export interface KillOptions {
  readonly trials: number;
  readonly clients: number;
  readonly seed: number;
  /**
   * A negative control, which must miss its goals. `journal`: it is deleted between the kill and
   * the next start, as if Naru had never written it. `idempotency`: the database is made to accept
   * a generation twice.
   */
  readonly sabotage: 'none' | 'journal' | 'idempotency';
  readonly print: (line: string) => void;
}

/**
 * The target of `kill -9`: the server process; one backend of its database; the postmaster; or all
 * of them in one instant. After a partial kill the rest of Naru continues under load for a while,
 * and is then killed: the ledger must survive both.
 */
const victims = ['process', 'backend', 'postmaster', 'everything'] as const;
type Victim = (typeof victims)[number];

/** What the trials have gathered. */
interface TrialTotals {
  readonly sights: Sight[];
  readonly readyMs: number[];
  readonly inFlight: number[];
  readonly faultsAtRestart: string[];
  killsWhileStarting: number;
  readonly victims: Map<Victim, number>;
}

/**
 * The maximum duration of a start after a kill, milliseconds, where every process has a core; on an
 * idle host it is about one second.
 */
const slowestStartMs = 15_000;

/**
 * Kills the real server under load repeatedly, and compares what its clients received with its
 * ledger.
 */
export async function runKills(options: KillOptions): Promise<readonly Goal[]> {
  const upstream = await startUpstream();
  upstream.respond(({ body }) => scriptedReply(body));
  const site = createSite(upstream.url);
  try {
    return await trials(site, options);
  } finally {
    await upstream.close();
    await site.end();
  }
}

async function trials(site: Site, options: KillOptions): Promise<readonly Goal[]> {
  const random = randomFrom(options.seed);
  const totals: TrialTotals = {
    sights: [],
    readyMs: [],
    inFlight: [],
    faultsAtRestart: [],
    killsWhileStarting: 0,
    victims: new Map(),
  };
  let naru = await startNaru(site);
  const payers = await open(site, options);
  for (let trial = 1; trial <= options.trials; trial += 1) {
    const victim = victims[(trial - 1) % victims.length] ?? 'process';
    totals.victims.set(victim, (totals.victims.get(victim) ?? 0) + 1);
    await loadAndKill(naru, payers, { ...options, site, random, trial, victim }, totals);
    if (options.sabotage === 'journal') rmSync(join(site.dataDir, 'journal'), { recursive: true });
    if (random() < 0.15) {
      await killWhileStarting(site, between(random, 150, 900));
      totals.killsWhileStarting += 1;
    }
    naru = await startNaru(site);
    totals.readyMs.push(naru.readyMs);
    await checkAtRestart(site, payers, trial, totals);
    if (trial % 10 === 0) options.print(`... ${trial} trials, ${totals.sights.length} requests`);
  }
  const ledger = await withLedger(site, ({ operator }) => readLedger(operator));
  const memory = await auditMemory(naru.url, payers, ledger.entries, ledger.generations);
  return [
    ...auditHistory(totals.sights, ledger, new Set([...expectedRefusals, 'server'])),
    memory,
    ...goalsOfKills(options, totals, await end(site, naru)),
  ];
}

async function open(site: Site, { sabotage }: KillOptions): Promise<readonly Payer[]> {
  return withLedger(site, async ({ operator, database }) => {
    if (sabotage === 'idempotency') {
      await database.query('ALTER TABLE generation DROP CONSTRAINT generation_pkey');
      await database.query('DROP INDEX ledger_one_entry_per_generation');
    }
    return [await createPayer(operator, '100000000', 2), await createPayer(operator, '70000000.123456', 2)];
  });
}

/** Clients send requests back to back until the server is killed at a random instant. */
async function loadAndKill(
  naru: NaruProcess,
  payers: readonly Payer[],
  trial: {
    readonly site: Site;
    readonly clients: number;
    readonly random: Random;
    readonly trial: number;
    readonly victim: Victim;
  },
  totals: TrialTotals,
): Promise<void> {
  const { clients, random, site, victim } = trial;
  const load = startLoad(naru.url, payers, {
    clients,
    seed: between(random, 1, 2 ** 30),
    name: `t${trial.trial}-${victim}`,
  });
  await new Promise((resolve) => setTimeout(resolve, between(random, 40, 1100)));
  totals.inFlight.push(load.inFlight);
  if (victim !== 'process') killDatabase(site, victim, random);
  // A part of Naru recovers under load, or is in the middle of it when the rest is killed.
  if (victim === 'backend' || victim === 'postmaster')
    await new Promise((resolve) => setTimeout(resolve, between(random, 40, 1500)));
  load.cease();
  await naru.kill();
  await load.stop();
  totals.sights.push(...load.sights);
}

/** Kills the processes of the embedded server that the trial names. */
function killDatabase(site: Site, victim: Exclude<Victim, 'process'>, random: Random): void {
  const postmaster = postmasterOf(site);
  if (postmaster === null) throw new Error('there is no PostgreSQL to kill');
  const children = childrenOf(postmaster);
  const one = children[between(random, 0, Math.max(0, children.length - 1))];
  const doomed = {
    backend: one === undefined ? [] : [one],
    postmaster: [postmaster],
    everything: [postmaster, ...children],
  };
  for (const pid of doomed[victim]) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended by itself since.
    }
  }
}

async function checkAtRestart(
  site: Site,
  payers: readonly Payer[],
  trial: number,
  totals: TrialTotals,
): Promise<void> {
  await withLedger(site, async ({ operator }) => {
    const { differences } = await operator.verifyLedger();
    for (const row of differences) totals.faultsAtRestart.push(`trial ${trial}: ${JSON.stringify(row)}`);
    for (const { accountId, grantedMicro } of payers) {
      const account = await operator.readAccount(accountId);
      if (account?.credits !== grantedMicro)
        totals.faultsAtRestart.push(`trial ${trial}: account ${accountId} has credits ${account?.credits}`);
    }
  });
}

/** Stops the server as an operator would; returns its exit code and the processes that it left. */
async function end(
  site: Site,
  naru: NaruProcess,
): Promise<{ readonly code: number | string; readonly left: number }> {
  const postmaster = postmasterOf(site);
  const code = await naru.stop();
  return { code, left: postmaster !== null && isRunning(postmaster) ? 1 : 0 };
}

function goalsOfKills(
  { trials: wanted }: KillOptions,
  totals: TrialTotals,
  ended: { readonly code: number | string; readonly left: number },
): readonly Goal[] {
  const ready = [...totals.readyMs].sort((a, b) => a - b);
  const middle = ready[Math.floor(ready.length / 2)] ?? 0;
  const slowest = ready.at(-1) ?? 0;
  const busy = totals.inFlight.filter((count) => count > 0).length;
  const failed = totals.sights
    .filter(({ errorType }) => errorType === 'server')
    .map(({ order }) => order.tag);
  const sum = totals.inFlight.reduce((total, count) => total + count, 0);
  return [
    {
      goal: 'the ledger agrees after every restart',
      counts: `${totals.readyMs.length} restarts after ${[...totals.victims].map(([victim, count]) => `${count} × ${victim}`).join(', ')}; ${totals.killsWhileStarting} more kills while starting`,
      faults: totals.faultsAtRestart,
    },
    {
      goal: 'every kill interrupted requests in flight',
      counts: `${busy} of ${wanted} kills, ${sum} requests in flight in all`,
      faults: busy === wanted ? [] : ['a kill interrupted no request'],
    },
    {
      goal: 'no 500 server except while only PostgreSQL was killed',
      counts: `${failed.length} in all`,
      faults: failed.filter((tag) => !/-(backend|postmaster)-/.test(tag)),
    },
    {
      goal: `ready again within ${slowestStartMs} ms`,
      counts: `median ${Math.round(middle)} ms, slowest ${Math.round(slowest)} ms`,
      faults: slowest <= scaledLimit(slowestStartMs) ? [] : ['too slow'],
    },
    {
      goal: 'SIGTERM ends with code 0 and leaves no PostgreSQL',
      counts: `code ${ended.code}, ${ended.left} left`,
      faults: ended.code === 0 && ended.left === 0 ? [] : ['exit code or leftover process'],
    },
  ];
}

async function withLedger<T>(site: Site, use: (accounting: OpenAccounting) => Promise<T>): Promise<T> {
  const accounting = await site.openAccounting();
  try {
    return await use(accounting);
  } finally {
    await accounting.close();
  }
}
