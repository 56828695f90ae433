import type { Campaign } from './campaign.ts';
import { simulate } from './simulation.ts';

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
