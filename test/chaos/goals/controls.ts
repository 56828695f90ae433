import { runKills } from '../kill-trials.ts';
import { faultsOf, type GoalRun, type Outcome } from './goal.ts';

/** Negative controls: what the audit guards is broken on purpose, and the audit must fail. */
export async function controls({ seed, quick }: GoalRun): Promise<readonly Outcome[]> {
  const trials = quick ? 6 : 15;
  const outcomes: Outcome[] = [];
  for (const sabotage of ['idempotency', 'journal'] as const) {
    let faults: readonly string[] = [];
    let kills = 0;
    // A settlement is only repeated when the kill falls between its COMMIT and the journal's note
    // of it: some runs have none.
    for (let round = 0; faults.length === 0 && round < 6; round += 1) {
      kills += trials;
      const options = { trials, clients: 32, seed: seed + round, sabotage, print: () => {} };
      faults = faultsOf(await runKills(options));
    }
    outcomes.push({
      name: `control: ${sabotage === 'journal' ? 'finals are not journaled' : 'a generation may be settled twice'}`,
      wanted: 'the audit fails',
      found:
        faults.length === 0
          ? `passed after ${kills} kills`
          : `failed: ${faults.length} faults after ${kills} kills, such as ${faults[0]?.slice(0, 90)}`,
      met: faults.length > 0,
    });
  }
  return outcomes;
}
