import { type Goal, goals } from './journey.ts';
import { type Outcome, simulate } from './simulation.ts';

/** What is to be simulated. */
export interface Orders {
  readonly from: number;
  readonly seeds: number;
  readonly steps: number;
  /** So many of the first seeds are run twice, and must be the same to the last line. */
  readonly twice: number;
  readonly trace?: (line: string) => void;
}

/** The result: one line for each goal. */
export interface Campaign {
  readonly report: readonly string[];
  readonly failed: boolean;
}

/**
 * With fewer seeds than this, or fewer steps of each, what must happen sometimes may happen never.
 */
const enoughSeeds = 200;
const enoughSteps = 2_500;
/**
 * The rarest goal happens five times in 200 seeds, and so never in one of 150 such runs. As long as
 * one is missing, a run goes on up to this many times its seeds.
 */
const maxExtension = 4;

/**
 * Runs seed after seed, up to the first that fails, and beyond those that are ordered while a goal
 * is missing.
 */
export async function runSeeds(orders: Orders): Promise<Campaign> {
  const counts = new Map<Goal, number>();
  const sums = { seeds: 0, steps: 0, requests: 0, complete: 0, crashes: 0, commits: 0, checks: 0 };
  const report: string[] = [];
  const differing: number[] = [];
  let bad: Outcome | null = null;
  const beganMs = performance.now();
  const isShort = orders.seeds < enoughSeeds || orders.steps < enoughSteps;
  const end = orders.from + orders.seeds;
  const lastEnd = orders.from + orders.seeds * (isShort ? 1 : maxExtension);
  const isComplete = (): boolean => goals.every((goal) => counts.has(goal));
  for (let seed = orders.from; seed < lastEnd && bad === null; seed += 1) {
    if (seed >= end && isComplete()) break;
    const outcome = await simulate(seed, {
      steps: orders.steps,
      ...(orders.trace && { print: orders.trace }),
    });
    sums.seeds += 1;
    for (const name of ['steps', 'requests', 'complete', 'crashes', 'commits', 'checks'] as const)
      sums[name] += outcome[name];
    for (const [goal, count] of outcome.counts) counts.set(goal, (counts.get(goal) ?? 0) + count);
    if (outcome.violation !== null) bad = outcome;
    else if (seed - orders.from < orders.twice) {
      const again = await simulate(seed, { steps: orders.steps });
      if (again.hash !== outcome.hash) differing.push(seed);
    }
  }
  const tookSec = ((performance.now() - beganMs) / 1000).toFixed(1);
  report.push(
    `${sums.seeds} seeds from ${orders.from} in ${tookSec} s: ${sums.steps} steps, ${sums.requests} requests (${sums.complete} complete), ` +
      `${sums.crashes} crashes, ${sums.commits} commits, ${sums.checks} checks`,
  );
  report.push(
    `the same seed twice, ${Math.min(orders.twice, sums.seeds)} seeds: ${
      differing.length === 0 ? 'the same trace' : `DIFFERENT: ${differing.join(', ')}`
    }`,
  );
  const never = goals.filter((goal) => !counts.has(goal));
  for (const goal of goals) report.push(`${String(counts.get(goal) ?? 0).padStart(7)}  ${goal}`);
  if (never.length > 0 && bad === null)
    report.push(`${isShort ? 'never, in so few seeds or steps' : 'NEVER'}: ${never.join('; ')}`);
  if (bad?.violation != null) {
    report.push(...bad.violation.last, `SEED ${bad.seed} FAILED: ${bad.violation.text}`);
    report.push(`again: npm run sim -- --from ${bad.seed} --seeds 1 --steps ${orders.steps} --trace`);
  }
  // However short the run: a world in which every request is refused keeps every promise.
  const isIdle = sums.complete === 0;
  if (isIdle && bad === null) report.push('NO REQUEST WAS COMPLETED');
  const failed = bad !== null || differing.length > 0 || isIdle || (never.length > 0 && !isShort);
  return { report, failed };
}

/**
 * Runs small worlds without faults, each once for every point before and after every commit and
 * sync in it: the process that reaches that point dies there. Ends with the first world that is
 * wrong.
 */
export async function runPoints(orders: {
  readonly from: number;
  readonly worlds: number;
  readonly steps: number;
}): Promise<Campaign> {
  const { from, worlds, steps } = orders;
  const sums = { points: 0, crashes: 0, checks: 0 };
  for (let seed = from; seed < from + worlds; seed += 1) {
    const whole = await simulate(seed, { steps, quiet: { dieAt: null } });
    for (let dieAt = 0; dieAt <= whole.points; dieAt += 1) {
      const outcome = dieAt === 0 ? whole : await simulate(seed, { steps, quiet: { dieAt } });
      sums.points += dieAt === 0 ? 0 : 1;
      sums.crashes += outcome.crashes;
      sums.checks += outcome.checks;
      if (outcome.violation === null) continue;
      const { last, text: message } = outcome.violation;
      return { report: [...last, `WORLD ${seed} FAILED, crash at point ${dieAt}: ${message}`], failed: true };
    }
  }
  const { points, crashes, checks } = sums;
  const report = `${worlds} small worlds from ${from}, ${points} points before and after a commit or sync, ${crashes} crashes, ${checks} checks`;
  return { report: [report], failed: false };
}
