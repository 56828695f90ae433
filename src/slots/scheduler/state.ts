import { emptyQueue, type FairQueue, type Queued } from './queue.ts';

/** A request that waits for a lane. */
export interface Waiter extends Queued {
  /** When it asked. An engine that gives way serves those who asked before (design.md, R4). */
  readonly requestedAtMs: number;
  /** How long it is willing to wait while there is no ready engine. */
  readonly coldWaitMs: number;
  /** When that ends. Not looked at while an engine is ready (design.md, Q2). */
  readonly deadlineMs: number;
}

/** The running engine; an external one has neither pid nor port. */
export interface Engine {
  readonly pid: number | null;
  readonly port: number | null;
  /** Without a slash at the end. */
  readonly baseUrl: string;
}

/** What a replica is doing, with what it needs to know about it. All times are monotonic milliseconds. */
export type Phase =
  | { readonly kind: 'COLD' }
  | {
      /** Wants memory (design.md, R). `asleep`: it has an engine, which wants the rest of its memory back. */
      readonly kind: 'ADMITTING';
      readonly sinceMs: number;
      /** When those who have the memory may be stopped, as far as that is known. */
      readonly roomAtMs: number;
      readonly asleep: boolean;
    }
  | {
      readonly kind: 'STARTING';
      readonly startedMs: number;
      /** When to ask the engine again whether it is ready; infinite while a probe is out or nothing runs yet. */
      readonly probeAtMs: number;
    }
  | { readonly kind: 'WARMING'; readonly startedMs: number; readonly untilMs: number }
  | {
      readonly kind: 'READY';
      readonly readyMs: number;
      /** Infinite while it works. */
      readonly idleSinceMs: number;
      /** When it last gave a sign of life. */
      readonly lastActivityMs: number;
      /** When to ask a silent engine whether it lives; infinite while a probe is out. */
      readonly checkAtMs: number;
      /** Such probes in a row that failed. */
      readonly misses: number;
      /** Whoever asked from then on is not served before somebody else had the memory; infinite: nobody wants it. */
      readonly yieldsFromMs: number;
    }
  | {
      readonly kind: 'SLEEPING';
      readonly step: 'falling' | 'asleep' | 'waking';
      readonly sinceMs: number;
      /** When `falling` or `waking` has failed. */
      readonly untilMs: number;
    }
  | { readonly kind: 'DRAINING'; readonly untilMs: number }
  | {
      readonly kind: 'STOPPING';
      /** When SIGKILL follows; infinite once it was sent. */
      readonly killAtMs: number;
      /** What comes after: a back-off until then, or, when it is past, COLD. */
      readonly backoffUntilMs: number;
    }
  | { readonly kind: 'RECLAIMING'; readonly untilMs: number; readonly backoffUntilMs: number }
  | { readonly kind: 'BACKOFF'; readonly untilMs: number }
  | { readonly kind: 'FAILED'; readonly untilMs: number };

/** One engine of a slot, or the place for it. */
export interface Replica {
  readonly phase: Phase;
  /** The number of its last start; whatever reports under another one is not believed (design.md, S2). */
  readonly epoch: number;
  readonly engine: Engine | null;
  /** Ids of the waiters that hold a lane. */
  readonly leases: readonly number[];
  /** Failures in a row, for the back-off and the circuit. */
  readonly failures: number;
  /** Starts in a row whose port turned out to be a stranger's. */
  readonly collisions: number;
  /** Why it is in this phase, for a person. */
  readonly reason: string;
}

/** Everything that a slot's decisions depend on. */
export interface SlotState {
  /** As many as the configuration says, in its order. */
  readonly replicas: readonly Replica[];
  /** Counts the starts of all replicas. */
  readonly epoch: number;
  /** One queue, whichever replica serves. */
  readonly queue: FairQueue<Waiter>;
  /** The earliest deadline in the queue, or earlier. */
  readonly dueMs: number;
  /** Somebody asked for an engine, whether or not they still wait. */
  readonly target: boolean;
  /** When somebody last asked. */
  readonly requestedAtMs: number;
  /** Durations of the last successful starts, oldest first. */
  readonly history: readonly number[];
  /** How long the last waking took. */
  readonly wakeMs: number;
  /** Taken out of the configuration: it serves whom it has, at most until then. Null: it is in it. */
  readonly retiringUntilMs: number | null;
  readonly closed: boolean;
}

/** What happens to a slot. */
export type SlotEvent =
  | { readonly kind: 'acquire'; readonly id: number; readonly accountId: number; readonly coldWaitMs: number }
  /** The request is over, wherever it stood: it was served, or it left. */
  | { readonly kind: 'leave'; readonly id: number; readonly unreachable: boolean }
  | { readonly kind: 'start' }
  | { readonly kind: 'stop'; readonly drainMs: number }
  /** It is in the configuration no more. */
  | { readonly kind: 'retire'; readonly drainMs: number }
  | { readonly kind: 'close' }
  | { readonly kind: 'spawned'; readonly epoch: number; readonly engine: Engine }
  | { readonly kind: 'probed'; readonly epoch: number; readonly answer: ProbeAnswer }
  /** The warm-up is over, well or not. */
  | { readonly kind: 'warmed'; readonly epoch: number }
  /** The engine fell asleep or woke up; `ok` false: it did not. */
  | { readonly kind: 'slept' | 'woken'; readonly epoch: number; readonly ok: boolean }
  /** A sign of life of a lease. */
  | { readonly kind: 'heard'; readonly epoch: number }
  /** The engine ended by itself, or could not be started. `collision`: somebody else has its port. */
  | { readonly kind: 'exited'; readonly epoch: number; readonly reason: string; readonly collision: boolean }
  /** Nothing of the start is left: seen, not assumed. */
  | { readonly kind: 'gone'; readonly epoch: number }
  /** Its GPU memory is free again. */
  | { readonly kind: 'reclaimed'; readonly epoch: number }
  | { readonly kind: 'tick' };

/** A happening at its time: monotonic, never falling. */
export type TimedSlotEvent = { readonly atMs: number } & SlotEvent;

/** What a probe found: the engine serves, it does not yet, somebody else answers on its port, or it serves another model. */
export type ProbeAnswer = 'ready' | 'waiting' | 'stranger' | { readonly wrong: string };

/** What the shell has to do. */
export type SlotEffect =
  | { readonly kind: 'spawn'; readonly epoch: number; readonly replica: number }
  | {
      readonly kind: 'probe' | 'warm' | 'sleep' | 'wake' | 'terminate' | 'kill' | 'reclaim';
      readonly epoch: number;
    }
  | { readonly kind: 'grant'; readonly id: number; readonly epoch: number; readonly baseUrl: string }
  | { readonly kind: 'refuse'; readonly id: number; readonly retryAfterSec: number }
  | { readonly kind: 'lose'; readonly id: number; readonly reason: string }
  /** A ready engine makes room for another slot: somebody counts that. */
  | { readonly kind: 'evicted' }
  | { readonly kind: 'remember'; readonly history: readonly number[] };

/** What the decisions need of a slot's settings. Zero switches off whatever is a time or a size, but for budget and grace. */
export interface SlotConfig {
  /** Nobody's child: it is probed, never started or stopped, and a failed probe takes no lease away. */
  readonly external: boolean;
  /** The GPUs of each replica; as many as there are replicas, at least one. */
  readonly replicas: readonly (readonly string[])[];
  /** Of each replica. */
  readonly maxConcurrency: number;
  readonly startBudgetMs: number;
  readonly idleStopMs: number;
  /** From SIGTERM to SIGKILL. */
  readonly graceMs: number;
  /** What a replica takes of each of its GPUs, in MiB. */
  readonly vramMb: number;
  /** What it keeps of that while it sleeps; null: its engine cannot sleep. */
  readonly sleepVramMb: number | null;
  /** What a ready engine is left before another may have its memory. */
  readonly minResidentMs: number;
  /** The silence after which a ready engine is asked whether it lives. */
  readonly stallMs: number;
  /** The longest first request. */
  readonly warmUpMs: number;
  /** The longest wait for its memory to be free once it is gone; 0 where nobody can tell. */
  readonly reclaimMs: number;
  /** How long the circuit stays open the first time. */
  readonly circuitMs: number;
}

/** A slot that never ran in this Naru; `history` is what an earlier one remembered. */
export function coldSlot(history: readonly number[], replicas = 1): SlotState {
  const cold: Replica = {
    phase: { kind: 'COLD' },
    epoch: 0,
    engine: null,
    leases: [],
    failures: 0,
    collisions: 0,
    reason: 'never started',
  };
  return {
    replicas: Array.from({ length: replicas }, () => cold),
    epoch: 0,
    queue: emptyQueue,
    dueMs: Number.POSITIVE_INFINITY,
    target: false,
    requestedAtMs: Number.NEGATIVE_INFINITY,
    history,
    wakeMs: firstWakeMs,
    retiringUntilMs: null,
    closed: false,
  };
}

/** What a waking is believed to take before the first one. */
const firstWakeMs = 2000;

/** How long an application for memory stands for which nobody waits, from when somebody last asked (design.md, R8). */
export const applicationMs = 300_000;
