import { runKills } from '../kill-trials.ts';
import { faultsOf, type GoalRun, type Outcome, outcome } from './goal.ts';

/**
 * `kill -9` of the process, a backend, the postmaster or everything, at random instants under mixed
 * load: ledger, memory and what clients received agree exactly.
 */
export async function kills({ seed, quick, print }: GoalRun): Promise<readonly Outcome[]> {
  const trials = quick ? 10 : 300;
  const checked = await runKills({ trials, clients: 32, seed, sabotage: 'none', print });
  const counts = checked.map(({ counts: words }) => words);
  const found = `${counts[1]}; ${counts[2]}; restarts: ${counts.at(-2)}`;
  return [outcome('kill -9', `${trials} trials under mixed load, exact`, found, faultsOf(checked))];
}
