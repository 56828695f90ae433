import type { Clock } from '../time/clock.ts';
import type { SlotGrant } from './contract.ts';
import type { Driver } from './drivers/driver.ts';
import type { ProbeResult } from './scheduler/state.ts';

/**
 * How a start ended: the engine became ready; it exited or could not be run; it was not ready
 * within the budget; or it was stopped before.
 */
export type StartOutcome = 'ready' | 'failed' | 'over_budget' | 'stopped';

/**
 * How a request's wait for a lane ended: with a lease, with `loading`, with `failed`, or because the client
 * disconnected.
 */
export type WaitOutcome = 'lease' | 'loading' | 'failed' | 'left';

/** Receives slot events for the metrics. Called synchronously: it must not throw or block. */
export interface SlotObserver {
  /**
   * Once for each start, `tookMs` after it began; a ready engine that warms up counts as started.
   */
  started(slot: string, outcome: StartOutcome, tookMs: number): void;
  /** A start after the crash of a ready engine began. */
  restarted(slot: string): void;
  /** Once for each request, `waitedMs` after it arrived. */
  waited(slot: string, outcome: WaitOutcome, waitedMs: number): void;
  /** A ready engine was stopped, or put to sleep, because another slot needs its memory. */
  evicted(slot: string): void;
}

/** Ignores everything. */
export const silentObserver: SlotObserver = { started() {}, restarted() {}, waited() {}, evicted() {} };

/** What an observed driver needs besides its driver. */
export interface Observed {
  readonly slot: string;
  readonly startBudgetMs: number;
  readonly observer: SlotObserver;
  readonly clock: Clock;
}

/**
 * The budget of a start counts from its decision, which precedes the driver's start by at most this
 * much on a busy machine.
 */
const decidedWithinMs = 100;

/**
 * Wraps a driver so that the observer receives its starts: where each begins, and where its engine
 * becomes ready or exits.
 */
export function observedDriver(driver: Driver, { slot, startBudgetMs, observer, clock }: Observed): Driver {
  let crashed = false;
  return {
    ...driver,
    start(report) {
      const beganMs = clock.monotonic();
      let outcome: StartOutcome | null = null;
      let isTerminating = false;
      const end = (ended: StartOutcome): void => {
        if (outcome !== null) return;
        outcome = ended;
        observer.started(slot, ended, clock.monotonic() - beganMs);
      };
      if (crashed) observer.restarted(slot);
      crashed = false;
      const run = driver.start((reported) => {
        if (reported.kind === 'exited' && outcome === 'ready' && !isTerminating) crashed = true;
        if (reported.kind === 'exited') end('failed');
        report(reported);
      });
      // The run is changed in place, not wrapped: its optional methods stay.
      const { probe, terminate, kill } = run;
      const isOver = (): void => {
        isTerminating = true;
        const budgetMs = startBudgetMs - decidedWithinMs;
        end(clock.monotonic() - beganMs >= budgetMs ? 'over_budget' : 'stopped');
      };
      return Object.assign(run, {
        async probe(): Promise<ProbeResult> {
          const result = await probe.call(run);
          if (result === 'ready') end('ready');
          else if (result !== 'waiting') end('failed');
          return result;
        },
        terminate() {
          isOver();
          terminate.call(run);
        },
        kill() {
          isOver();
          kill.call(run);
        },
      });
    },
  };
}

/** Passes on the result of a request, and reports its wait to the observer. */
export async function observedWait(
  { slot, observer, clock }: Omit<Observed, 'startBudgetMs'>,
  wait: () => Promise<SlotGrant>,
): Promise<SlotGrant> {
  const beganMs = clock.monotonic();
  let outcome: WaitOutcome = 'left';
  try {
    const granted = await wait();
    outcome = granted.kind;
    return granted;
  } finally {
    observer.waited(slot, outcome, clock.monotonic() - beganMs);
  }
}
