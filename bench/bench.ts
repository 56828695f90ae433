/**
 * What Naru costs, with billing on, against the same upstream reached directly, through a bare nginx,
 * through a bare proxy on the same runtime, and through other gateways, in one run.
 *
 *   npm run bench -- [--seconds 3] [--rounds 3] [--only direct,nginx,floor,naru] [--peers]
 *   [--chunks 200] [--record]
 *   npm run bench -- --paced [--only direct,nginx,floor,naru] [--peers]
 *   npm run bench -- --costs [--seconds 5] [--chunks 100] [--functions 40]
 *   npm run bench -- --alone
 *
 * First of all many slow streams, and with `--paced` only these. `--peers` adds Portkey and LiteLLM, installed once from npm and PyPI. `--alone` measures what needs
 * no comparison, and `--record` that as well.
 *
 * Exits 1 when a request failed, when the ledger and the requests differ, or when something it
 * needs is missing.
 */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { aloneTable } from './alone.ts';
import { type Child, canPin, LOAD_CORE, startChild } from './child.ts';
import { costs } from './costs.ts';
import { goalTable } from './goals.ts';
import type { LoadJob, LoadResult } from './load-run.ts';
import { type Load, type Measure, measures, type Sample, sample } from './measure.ts';
import { type Carried, carriedBy, pacedTables } from './paced.ts';
import type { PacedJob, PacedResult } from './paced-run.ts';
import { page, table } from './report.ts';
import {
  directTarget,
  floorTarget,
  type Ground,
  peerNames,
  type Target,
  type TargetName,
  targetNames,
} from './target.ts';
import { naruTarget } from './target-naru.ts';
import { nginxFault, nginxTarget } from './target-nginx.ts';
import { litellmTarget, portkeyTarget } from './target-peers.ts';

interface Plan {
  readonly seconds: number;
  readonly rounds: number;
  readonly chunks: number;
  readonly only: readonly TargetName[];
  readonly record: boolean;
  /** Prints the cost table instead. */
  readonly costs: boolean;
  readonly functions: number;
  /** Prints the figures of Naru alone instead. */
  readonly alone: boolean;
  /** Measures slow streams only. */
  readonly paced: boolean;
  readonly loadBefore: number;
}

/**
 * Compiles the code and opens the connections of a target before anything counts. V8 still optimizes
 * after seconds: Naru's main thread needs 260 µs a request in its first five seconds, and 187 µs
 * after 70 s.
 */
const WARM_UP_SECONDS = 15;
const SHORT_WARM_UP_SECONDS = 1;
const HARNESS_LIMIT_MS = 10_000;

const starters: Readonly<Record<TargetName, (ground: Ground) => Target | Promise<Target>>> = {
  direct: directTarget,
  nginx: nginxTarget,
  floor: floorTarget,
  portkey: portkeyTarget,
  litellm: litellmTarget,
  naru: (ground) => naruTarget(ground),
};

try {
  process.exitCode = await bench(planOf(process.argv.slice(2)));
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

function planOf(args: readonly string[]): Plan {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: 'string', default: '3' },
      rounds: { type: 'string', default: '3' },
      chunks: { type: 'string', default: '200' },
      only: { type: 'string', default: targetNames.filter((name) => !peerNames.includes(name)).join(',') },
      peers: { type: 'boolean', default: false },
      record: { type: 'boolean', default: false },
      costs: { type: 'boolean', default: false },
      functions: { type: 'string', default: '0' },
      alone: { type: 'boolean', default: false },
      paced: { type: 'boolean', default: false },
    },
  });
  const number = (name: 'seconds' | 'rounds' | 'chunks', most: number): number => {
    const value = Number(values[name]);
    if (!(value > 0 && value <= most)) throw new Error(`--${name} takes a number up to ${most}`);
    return value;
  };
  const wanted = [...values.only.split(','), ...(values.peers ? peerNames : [])];
  const unknown = wanted.filter((name) => !targetNames.some((known) => known === name));
  if (unknown.length > 0)
    throw new Error(`--only knows ${targetNames.join(', ')}, not ${unknown.join(', ')}`);
  const only = targetNames.filter((name) => wanted.includes(name));
  if (values.record && only.length < targetNames.length)
    throw new Error('--record needs all targets, --peers included');
  if (only.includes('nginx') && nginxFault !== null) throw new Error(nginxFault);
  return {
    seconds: number('seconds', 60),
    rounds: number('rounds', 50),
    chunks: number('chunks', 10_000),
    only,
    record: values.record,
    costs: values.costs,
    functions: Number(values.functions) || 0,
    alone: values.alone,
    paced: values.paced,
    loadBefore: loadavg()[0] ?? 0,
  };
}

async function bench(plan: Plan): Promise<number> {
  if (!canPin) print('warning: processes cannot be pinned to cores here; the figures mean little');
  if (plan.loadBefore > 0.5)
    print(`warning: other work on this machine, load average ${plan.loadBefore.toFixed(2)}`);
  await using closing = new AsyncDisposableStack();
  const interrupted = Promise.withResolvers<never>();
  interrupted.promise.catch(() => {});
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => interrupted.reject(new Error(`ended by ${signal}`)));
  }
  const directory = mkdtempSync(join(tmpdir(), 'naru-bench-'));
  closing.defer(() => rmSync(directory, { recursive: true, force: true }));
  chmodSync(directory, 0o711); // the embedded database may run as another user and must get through
  const harness = async (
    name: string,
    file: string,
    ready: RegExp,
    args: readonly string[],
  ): Promise<Child> => {
    const command = [process.execPath, join(import.meta.dirname, file), ...args];
    const child = await startChild({ name, command, core: LOAD_CORE, ready, limitMs: HARNESS_LIMIT_MS });
    closing.defer(() => child.stop());
    return child;
  };
  const chunks = ['--chunks', String(plan.chunks)];
  const upstream = await harness('upstream', '../test/harness/fast-upstream.ts', /:(\d+)$/, chunks);
  const generator = await harness('load generator', 'load.ts', /^ready$/, []);
  const loadOf = async (job: LoadJob | PacedJob): Promise<unknown> =>
    JSON.parse(await Promise.race([generator.request(JSON.stringify(job)), interrupted.promise]));
  const load: Load = async (job) => (await loadOf(job)) as LoadResult;
  const ground = { upstreamPort: Number(upstream.started?.[1]), directory };
  if (plan.costs || plan.alone) {
    const text = plan.costs ? costs({ ...plan, ...ground, load }) : aloneTable({ ...ground, load });
    process.stdout.write(`${await text}\n`);
    return 0;
  }
  const targets: Target[] = [];
  for (const name of plan.only) {
    const target = await starters[name](ground);
    closing.defer(() => target.stop());
    targets.push(target);
  }
  const carried: Carried[] = [];
  const requests = new Map<TargetName, number>();
  for (const target of targets) {
    const note = (responses: number): void =>
      void requests.set(target.name, (requests.get(target.name) ?? 0) + responses);
    const loads = {
      load: async (job: PacedJob): Promise<PacedResult> => {
        const result = (await loadOf(job)) as PacedResult;
        // The others went to the upstream directly.
        if (job.port === target.jobOf('paced').port) note(billedBy(job, result));
        return result;
      },
      held: async (job: LoadJob): Promise<LoadResult> => {
        const result = await load(job);
        note(result.responses);
        return result;
      },
    };
    carried.push(await carriedBy(loads, target, directTarget(ground)));
    print(`${target.name}: ${carried.at(-1)?.streams} slow streams`);
  }
  const samples = plan.paced ? { warmUp: [], counted: [] } : await measureAll(plan, load, targets);
  const checks = await checksOf(plan, targets, [...samples.warmUp, ...samples.counted], requests);
  // The other servers rest meanwhile, but hold memory and wake up: they end first.
  await Promise.all(targets.map((target) => target.stop()));
  const alone = plan.record ? await aloneTable({ ...ground, load }) : '';
  return conclude(plan, { carried, counted: samples.counted }, checks, alone);
}

/** Streams and prompts, not the reads of a dashboard. */
function billedBy({ beside }: PacedJob, result: PacedResult): number {
  return result.beside.reduce(
    (sum, other, at) => sum + (beside[at]?.body === '' ? 0 : other.responses),
    result.responses,
  );
}

/**
 * The targets alternate in short rounds, so that a change in the host's load affects all of them.
 */
async function measureAll(plan: Plan, load: Load, targets: readonly Target[]) {
  const warmUp: Sample[] = [];
  const counted: Sample[] = [];
  for (let round = 0; round <= plan.rounds; round += 1) {
    for (const measure of measures(plan.chunks)) {
      for (const target of targets) {
        const seconds = round > 0 ? plan.seconds : warmUpSeconds(target, measure);
        const one = await sample(load, target, measure, seconds);
        (round === 0 ? warmUp : counted).push(one);
        if (one.failures > 0)
          print(`${target.name}, ${measure.name}: ${one.failures} failed, first: ${one.firstFailure}`);
      }
    }
    print(round === 0 ? 'warm' : `round ${round} of ${plan.rounds} done`);
  }
  return { warmUp, counted };
}

/** The path of a call is the same at every rate. */
function warmUpSeconds(target: Target, measure: Measure): number {
  return target.name === 'naru' && measure.perSecond === null ? WARM_UP_SECONDS : SHORT_WARM_UP_SECONDS;
}

/** One line for each condition that must hold; broken ones begin with `not ok`. */
async function checksOf(
  plan: Plan,
  targets: readonly Target[],
  all: readonly Sample[],
  paced: ReadonlyMap<TargetName, number>,
): Promise<readonly string[]> {
  const failuresOf = (names: readonly string[]): number =>
    all.filter(({ target }) => names.includes(target)).reduce((sum, one) => sum + one.failures, 0);
  const failures = failuresOf(targetNames.filter((name) => !peerNames.includes(name)));
  const checks = [`${failures === 0 ? 'ok' : 'not ok'}: ${failures} failed requests`];
  for (const name of peerNames.filter((peer) => plan.only.includes(peer)))
    checks.push(`ok: ${failuresOf([name])} failed requests of ${name}, another gateway`);
  for (const target of targets) {
    const responses = all
      .filter((one) => one.target === target.name)
      .reduce((sum, one) => sum + one.responses, paced.get(target.name) ?? 0);
    checks.push(...(await target.verify(responses)));
  }
  return checks;
}

/** Prints the tables and the checks, and records them if requested. Returns the exit code. */
function conclude(
  plan: Plan,
  { carried, counted }: { readonly carried: readonly Carried[]; readonly counted: readonly Sample[] },
  checks: readonly string[],
  alone: string,
): number {
  const rates = plan.paced ? [] : [table(counted, plan.only), goalTable(counted), alone];
  const tables = [...pacedTables(carried), ...rates].filter((each) => each !== '');
  const body = tables.join('\n\n');
  process.stdout.write(`\n${body}\n\n${checks.join('\n')}\n`);
  const good = checks.every((line) => line.startsWith('ok'));
  if (plan.record && good) {
    const command = ['npm run bench --', ...process.argv.slice(2)].join(' ');
    writeFileSync(join(import.meta.dirname, 'RESULTS.md'), page({ ...plan, command }, body, checks));
  }
  return good ? 0 : 1;
}

function print(text: string): void {
  process.stderr.write(`bench: ${text}\n`);
}
