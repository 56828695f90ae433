import { runKills } from '../kill-trials.ts';
import { faultsOf, type GoalRun, type Outcome } from './goal.ts';

/** Negative controls: what the audit is for is broken on purpose, and it must say so. */
export async function controls({ seed, quick }: GoalRun): Promise<readonly Outcome[]> {
  const trials = quick ? 6 : 15;
  const outcomes: Outcome[] = [];
  for (const sabotage of ['idempotency', 'journal'] as const) {
    const checked = await runKills({ trials, clients: 32, seed, sabotage, print: () => {} });
    const faults = faultsOf(checked);
    outcomes.push({
      name: `control: ${sabotage === 'journal' ? 'finals are not journaled' : 'a generation may be settled twice'}`,
      wanted: 'the audit is red',
      found:
        faults.length === 0
          ? `green after ${trials} kills`
          : `red: ${faults.length} faults after ${trials} kills, such as ${faults[0]?.slice(0, 90)}`,
      met: faults.length > 0,
    });
  }
  return outcomes;
}
