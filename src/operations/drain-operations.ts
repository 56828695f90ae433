import { changeDrain, type DrainOutcome } from '../catalogue/drains.ts';
import { type Drain, type DrainChange, readDrains } from '../catalogue/drains-sql.ts';
import { audited } from './audited.ts';
import type { OperationsContext } from './operations-context.ts';

/** Drains candidates, resumes them, and lists the drained ones. */
export function drainOperations(context: OperationsContext) {
  const { database, clock, actor } = context;
  return {
    /** Drains a candidate or resumes it, on every node within a second; in the log when it changes. */
    changeDrain: (change: DrainChange): Promise<DrainOutcome> =>
      changeDrain(
        audited<DrainOutcome>(context, (outcome) => {
          if (outcome.kind !== 'done') return null;
          const { model, candidate, drained, reason } = change;
          return {
            act: drained ? 'candidate.drain' : 'candidate.resume',
            subject: `${model} ${candidate}`,
            reason,
            before: { drained: !drained },
            after: { drained },
          };
        }),
        change,
        { by: actor.name, atMs: clock.now() },
      ),

    readDrains: (): Promise<readonly Drain[]> => readDrains(database),
  };
}
