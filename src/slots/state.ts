import { emptyQueue, type FairQueue, type Queued } from './queue.ts';

/** A request that waits for a lane. */
export interface Waiter extends Queued {
  /** How long it is willing to wait while there is no ready engine. */
  readonly coldWaitMs: number;
  /** When that ends. Not looked at while the engine is ready (design.md, Q2). */
  readonly deadlineMs: number;
}

/** The running engine; an external one has neither pid nor port. */
export interface Engine {
  readonly pid: number | null;
  readonly port: number | null;
  /** Without a slash at the end. */
  readonly baseUrl: string;
}

/** What the slot is doing, with what it needs to know about it. All times are monotonic milliseconds. */
export type Phase =
  | { readonly kind: 'COLD' }
  | {
      readonly kind: 'STARTING';
      readonly startedMs: number;
      /** When to ask the engine again whether it is ready; infinite while a probe is out or nothing runs yet. */
      readonly probeAtMs: number;
    }
  | {
      readonly kind: 'READY';
      readonly readyMs: number /** Infinite while it works. */;
      readonly idleSinceMs: number;
    }
  | { readonly kind: 'DRAINING'; readonly untilMs: number }
  | {
      readonly kind: 'STOPPING';
      /** When SIGKILL follows; infinite once it was sent. */
      readonly killAtMs: number;
      /** What comes after: a back-off until then, or, when it is past, COLD. */
      readonly backoffUntilMs: number;
    }
  | { readonly kind: 'BACKOFF'; readonly untilMs: number };

/** Everything that a slot's decisions depend on. */
export interface SlotState {
  readonly phase: Phase;
  /** Counts the starts; whatever reports under an older number is not believed (design.md, S2). */
  readonly epoch: number;
  readonly engine: Engine | null;
  readonly queue: FairQueue<Waiter>;
  /** The earliest deadline in the queue, or earlier. */
  readonly dueMs: number;
  /** Ids of the waiters that hold a lane. */
  readonly leases: readonly number[];
  /** Somebody asked for the engine, whether or not they still wait. */
  readonly wanted: boolean;
  /** Failures in a row, for the back-off. */
  readonly failures: number;
  /** Starts in a row whose port turned out to be a stranger's. */
  readonly collisions: number;
  /** Durations of the last successful starts, oldest first. */
  readonly history: readonly number[];
  /** Why the slot is in this phase, for a person. */
  readonly reason: string;
  readonly closed: boolean;
}

/** What happens to a slot. `atMs` is monotonic and never falls. */
export type SlotEvent = { readonly atMs: number } & (
  | { readonly kind: 'acquire'; readonly id: number; readonly accountId: number; readonly coldWaitMs: number }
  /** The request is over, wherever it stood: it was served, or it left. */
  | { readonly kind: 'leave'; readonly id: number; readonly unreachable: boolean }
  | { readonly kind: 'start' }
  | { readonly kind: 'stop'; readonly drainMs: number }
  | { readonly kind: 'close' }
  | { readonly kind: 'spawned'; readonly epoch: number; readonly engine: Engine }
  | { readonly kind: 'probed'; readonly epoch: number; readonly answer: ProbeAnswer }
  /** The engine ended by itself, or could not be started. `collision`: somebody else has its port. */
  | { readonly kind: 'exited'; readonly epoch: number; readonly reason: string; readonly collision: boolean }
  /** Nothing of the start is left: seen, not assumed. */
  | { readonly kind: 'gone'; readonly epoch: number }
  | { readonly kind: 'tick' }
);

/** What a probe found: the engine serves, it does not yet, or somebody else answers on its port. */
export type ProbeAnswer = 'ready' | 'waiting' | 'stranger';

/** What the shell has to do. */
export type SlotEffect =
  | { readonly kind: 'spawn'; readonly epoch: number }
  | { readonly kind: 'probe'; readonly epoch: number }
  | { readonly kind: 'terminate'; readonly epoch: number }
  | { readonly kind: 'kill'; readonly epoch: number }
  | { readonly kind: 'grant'; readonly id: number; readonly baseUrl: string }
  | { readonly kind: 'refuse'; readonly id: number; readonly retryAfterSec: number }
  | { readonly kind: 'lose'; readonly id: number }
  | { readonly kind: 'remember'; readonly history: readonly number[] };

/** What the decisions need of a slot's settings. */
export interface SlotConfig {
  /** Nobody's child: it is probed, never started or stopped, and a failed probe takes no lease away. */
  readonly external: boolean;
  readonly maxConcurrency: number;
  readonly startBudgetMs: number;
  readonly idleStopMs: number;
  /** From SIGTERM to SIGKILL. */
  readonly graceMs: number;
}

/** A slot that never ran in this Naru; `history` is what an earlier one remembered. */
export function coldSlot(history: readonly number[]): SlotState {
  return {
    phase: { kind: 'COLD' },
    epoch: 0,
    engine: null,
    queue: emptyQueue,
    dueMs: Number.POSITIVE_INFINITY,
    leases: [],
    wanted: false,
    failures: 0,
    collisions: 0,
    history,
    reason: 'never started',
    closed: false,
  };
}
