import type { Clock } from '../time/clock.ts';
import type { SlotLease, SlotLoading } from './contract.ts';
import type { Driver } from './drivers/driver.ts';

/**
 * How a start ended: the engine answered its probe; it ended or could not be run; it was not ready within the budget; it was
 * stopped before it was ready; or a stranger had its port.
 */
export type StartOutcome = 'ready' | 'failed' | 'over_budget' | 'stopped' | 'collided';

/** How a request's wait for a lane ended: with one, with `loading`, or because it left. */
export type WaitOutcome = 'lease' | 'loading' | 'left';

/** Hears what happens inside the slots, for the metrics. Called in passing: it must not throw, nor take long. */
export interface SlotObserver {
  /** Once for each start, `tookMs` after it began; a ready engine that warms up has been started. */
  started(slot: string, outcome: StartOutcome, tookMs: number): void;
  /** A start that follows a crash of a ready engine began. */
  restarted(slot: string): void;
  /** Once for each request, `waitedMs` after it asked. */
  waited(slot: string, outcome: WaitOutcome, waitedMs: number): void;
  /** A ready engine was stopped, or put to sleep, because another slot needs its memory. */
  evicted(slot: string): void;
}

/** Hears nothing. */
export const silentObserver: SlotObserver = { started() {}, restarted() {}, waited() {}, evicted() {} };

/** What an observed driver is told beside its driver. */
export interface Observed {
  readonly slot: string;
  readonly startBudgetMs: number;
  readonly observer: SlotObserver;
  readonly clock: Clock;
}

/** The budget of a start counts from its decision, which comes so long before the driver hears of it at most, on a busy machine. */
const decidedWithinMs = 100;

/** The driver, with its starts told to the observer: each is seen where it begins, and where its engine answers or ends. */
export function observedDriver(driver: Driver, { slot, startBudgetMs, observer, clock }: Observed): Driver {
  let crashed = false;
  return {
    ...driver,
    start(report) {
      const beganMs = clock.monotonic();
      let outcome: StartOutcome | null = null;
      let asked = false;
      const end = (ended: StartOutcome): void => {
        if (outcome !== null) return;
        outcome = ended;
        observer.started(slot, ended, clock.monotonic() - beganMs);
      };
      if (crashed) observer.restarted(slot);
      crashed = false;
      const run = driver.start((reported) => {
        if (reported.kind === 'exited' && outcome === 'ready' && !asked) crashed = true;
        if (reported.kind === 'exited') end(reported.collision ? 'collided' : 'failed');
        report(reported);
      });
      // The run itself is dressed, not wrapped: whatever else it can do stays as it is.
      const { probe, terminate, kill } = run;
      const isOver = (): void => {
        asked = true;
        const budgetMs = startBudgetMs - decidedWithinMs;
        end(clock.monotonic() - beganMs >= budgetMs ? 'over_budget' : 'stopped');
      };
      run.probe = async () => {
        const answer = await probe.call(run);
        if (answer === 'ready') end('ready');
        else if (answer === 'stranger') end('collided');
        else if (answer !== 'waiting') end('failed');
        return answer;
      };
      run.terminate = () => {
        isOver();
        terminate.call(run);
      };
      run.kill = () => {
        isOver();
        kill.call(run);
      };
      return run;
    },
  };
}

/** The answer that a request gets, with its wait told to the observer. */
export async function observedWait(
  { slot, observer, clock }: Omit<Observed, 'startBudgetMs'>,
  wait: () => Promise<SlotLease | SlotLoading>,
): Promise<SlotLease | SlotLoading> {
  const beganMs = clock.monotonic();
  let outcome: WaitOutcome = 'left';
  try {
    const answer = await wait();
    outcome = answer.kind;
    return answer;
  } finally {
    observer.waited(slot, outcome, clock.monotonic() - beganMs);
  }
}
