import { slotReason } from '../reasons.ts';
import { emptyQueue, type FairQueue, type Queued } from './queue.ts';

/** A request that waits for a lane. */
export interface Waiter extends Queued {
  /**
   * When it arrived. An engine that is being evicted still serves earlier requests (design.md, R4).
   */
  readonly requestedAtMs: number;
  /** How long it may wait without a ready engine. */
  readonly coldWaitMs: number;
  /** The end of that wait. Ignored while an engine is ready (design.md, Q2). */
  readonly deadlineMs: number;
}

/** The running engine; an external one has neither pid nor port. */
export interface Engine {
  readonly pid: number | null;
  readonly port: number | null;
  /** Without a trailing slash. */
  readonly baseUrl: string;
}

/** The phase of a replica, with its data. All times are monotonic milliseconds. */
export type Phase =
  | { readonly kind: 'COLD' }
  | {
      /**
       * Requests memory (design.md, R). `asleep`: it has an engine, which needs the rest of its
       * memory back.
       */
      readonly kind: 'ADMITTING';
      readonly sinceMs: number;
      /** When the engines that occupy the memory may be stopped, as far as known. */
      readonly roomAtMs: number;
      readonly asleep: boolean;
    }
  | {
      readonly kind: 'STARTING';
      readonly startedMs: number;
      /**
       * When to probe the engine again; infinite while a probe is in flight or nothing runs yet.
       */
      readonly probeAtMs: number;
    }
  | { readonly kind: 'WARMING'; readonly startedMs: number; readonly untilMs: number }
  | {
      readonly kind: 'READY';
      readonly readyMs: number;
      /** Infinite while it works. */
      readonly idleSinceMs: number;
      /** The time of its last activity. */
      readonly lastActivityMs: number;
      /** When to probe a silent engine; infinite while a probe is in flight. */
      readonly checkAtMs: number;
      /** Consecutive failures of such probes. */
      readonly misses: number;
      /**
       * Requests from this time on wait until another slot had the memory; infinite: no slot wants
       * it.
       */
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
      /** What follows: a back-off until then, or COLD when it is past. */
      readonly backoffUntilMs: number;
    }
  | { readonly kind: 'RECLAIMING'; readonly untilMs: number; readonly backoffUntilMs: number }
  | { readonly kind: 'BACKOFF'; readonly untilMs: number }
  | { readonly kind: 'FAILED'; readonly untilMs: number };

/** One engine of a slot, or its empty position. */
export interface Replica {
  readonly phase: Phase;
  /** The number of its last start; reports with another epoch are ignored (design.md, S2). */
  readonly epoch: number;
  readonly engine: Engine | null;
  /** Ids of the requests with a lane. */
  readonly leases: readonly number[];
  /** Consecutive failures, for the back-off and the circuit. */
  readonly failures: number;
  /** Why it is in this phase, for a person. */
  readonly reason: string;
}

/** All state that a slot's decisions depend on. */
export interface SlotState {
  /** As many as configured, in that order. */
  readonly replicas: readonly Replica[];
  /** Counts the starts of all replicas. */
  readonly epoch: number;
  /** One queue for all replicas. */
  readonly queue: FairQueue<Waiter>;
  /** The earliest deadline in the queue, or earlier. */
  readonly dueMs: number;
  /** Whether an engine was requested, even if no request waits any more. */
  readonly target: boolean;
  /** The time of the last request. */
  readonly requestedAtMs: number;
  /** Durations of the last successful starts, oldest first. */
  readonly history: readonly number[];
  /** The duration of the last wake-up. */
  readonly wakeMs: number;
  /**
   * Removed from the configuration: it serves its current requests, at most until then. Null: not
   * removed.
   */
  readonly retiringUntilMs: number | null;
  readonly closed: boolean;
}

/** An event of a slot. */
export type SlotEvent =
  | { readonly kind: 'acquire'; readonly id: number; readonly accountId: number; readonly coldWaitMs: number }
  /** The request has ended: it was served, or its client disconnected. */
  | { readonly kind: 'leave'; readonly id: number; readonly unreachable: boolean }
  | { readonly kind: 'start' }
  | { readonly kind: 'stop'; readonly drainMs: number }
  /** The slot was removed from the configuration. */
  | { readonly kind: 'retire'; readonly drainMs: number }
  | { readonly kind: 'close' }
  | { readonly kind: 'spawned'; readonly epoch: number; readonly engine: Engine }
  | { readonly kind: 'probed'; readonly epoch: number; readonly result: ProbeResult }
  /** The warm-up is over, successful or not. */
  | { readonly kind: 'warmed'; readonly epoch: number }
  /** The engine fell asleep or woke up; `ok` false: it failed to. */
  | { readonly kind: 'slept' | 'woken'; readonly epoch: number; readonly ok: boolean }
  /** Activity of a lease. */
  | { readonly kind: 'activity'; readonly epoch: number }
  /** The engine exited by itself, or could not be started. */
  | { readonly kind: 'exited'; readonly epoch: number; readonly reason: string }
  /** Nothing of the start is left: observed, not assumed. */
  | { readonly kind: 'gone'; readonly epoch: number }
  /** Its GPU memory is free again. */
  | { readonly kind: 'reclaimed'; readonly epoch: number }
  | { readonly kind: 'tick' };

/** An event with its time: monotonic, never falling. */
export type TimedSlotEvent = { readonly atMs: number } & SlotEvent;

/** The result of a probe: the engine is ready, not ready yet, or it serves another model. */
export type ProbeResult = 'ready' | 'waiting' | { readonly wrong: string };

/** An effect that the shell must run. */
export type SlotEffect =
  | { readonly kind: 'spawn'; readonly epoch: number; readonly replica: number }
  | {
      readonly kind: 'probe' | 'warm' | 'sleep' | 'wake' | 'terminate' | 'kill' | 'reclaim';
      readonly epoch: number;
    }
  | { readonly kind: 'grant'; readonly id: number; readonly epoch: number; readonly baseUrl: string }
  | { readonly kind: 'refuse'; readonly id: number; readonly retryAfterSec: number }
  | { readonly kind: 'lose'; readonly id: number; readonly reason: string }
  /** The circuit of its engine is open. */
  | { readonly kind: 'fail'; readonly id: number; readonly reason: string }
  /** A ready engine was evicted for another slot; counted for the metrics. */
  | { readonly kind: 'evicted' }
  | { readonly kind: 'remember'; readonly history: readonly number[] };

/** The scheduler's settings of a slot. Zero disables any time or size except budget and grace. */
export interface SlotConfig {
  /**
   * Not our process: it is probed, never started or stopped, and a failed probe cancels no lease.
   */
  readonly external: boolean;
  /** The GPUs of each replica; as many as there are replicas, at least one. */
  readonly replicas: readonly (readonly string[])[];
  /** Per replica. */
  readonly maxConcurrency: number;
  readonly startBudgetMs: number;
  readonly idleStopMs: number;
  /** From SIGTERM to SIGKILL. */
  readonly graceMs: number;
  /** The memory that a replica occupies on each of its GPUs, in MiB. */
  readonly vramMb: number;
  /** The part of it occupied during sleep; null: its engine cannot sleep. */
  readonly sleepVramMb: number | null;
  /** The minimum time that a ready engine keeps its memory when another slot wants it. */
  readonly minResidentMs: number;
  /** The silence after which a ready engine is probed. */
  readonly stallMs: number;
  /** The maximum duration of the warm-up request. */
  readonly warmUpMs: number;
  /** The longest wait for free memory after an exit; 0 where it cannot be read. */
  readonly reclaimMs: number;
  /** How long the circuit stays open the first time. */
  readonly circuitMs: number;
}

/** A slot that never ran in this Naru; `history` is stored by an earlier one. */
export function coldSlot(history: readonly number[], replicas = 1): SlotState {
  const cold: Replica = {
    phase: { kind: 'COLD' },
    epoch: 0,
    engine: null,
    leases: [],
    failures: 0,
    reason: slotReason('never_started'),
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

/** The assumed duration of a first wake-up. */
const firstWakeMs = 2000;

/** How long a memory request without waiters is kept after the last request (design.md, R8). */
export const applicationMs = 300_000;
