import { until } from '../../harness/until.ts';
import { startLoad } from '../load.ts';
import { isRunning } from '../naru-process.ts';
import { type GoalRun, type Outcome, outcome } from './goal.ts';
import { settleAndAudit, startStage } from './stage.ts';

/**
 * COMMITs whose responses are lost, half of them committed and half not, under load: every one is
 * settled once.
 */
export async function lostCommits({ seed, quick }: GoalRun): Promise<readonly Outcome[]> {
  const wanted = quick ? 50 : 500;
  const stage = await startStage({ database: 'cutter' });
  try {
    const { cutter } = stage;
    if (cutter === null) throw new Error('no cutter');
    let commits = 0;
    cutter.onCommit(() => {
      commits += 1;
      if (cutter.cuts >= wanted || commits % 2 === 1) return 'delivered';
      return cutter.cuts % 2 === 0 ? 'unanswered' : 'unasked';
    });
    const load = startLoad(stage.naru.url, stage.payers, { clients: 16, seed, name: 'lost' });
    const made = (): boolean => {
      if (!isRunning(stage.naru.pid)) throw new Error('the gateway has ended');
      return cutter.cuts >= wanted;
    };
    await until('all cuts are made', made, 600_000);
    await load.stop();
    const faults = await settleAndAudit(stage, load.sights);
    const good = load.sights.filter((sight) => sight.kind === 'success').length;
    const found = `${cutter.cuts} lost of ${commits} COMMITs, ${load.sights.length} requests, ${good} complete responses`;
    return [outcome('lost COMMIT responses', `${wanted}, both fates, exact`, found, faults)];
  } finally {
    await stage.end();
  }
}
