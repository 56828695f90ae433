import type { Engine, ProbeResult } from '../scheduler/state.ts';

/** The reports of a run, in this order; either of the first two may be missing. */
export type RunReport =
  | { readonly kind: 'spawned'; readonly engine: Engine }
  | { readonly kind: 'exited'; readonly reason: string }
  /** Once, and only after `terminate` or `kill`. */
  | { readonly kind: 'gone' };

/** One start of an engine, from the first attempt until nothing of it is left. */
export interface Run {
  /** Whether the engine is ready. Never rejects. */
  probe(): Promise<ProbeResult>;
  /** Requests the engine to exit; at any time, also before it was spawned. */
  terminate(): void;
  /** Kills the engine. */
  kill(): void;
  /**
   * Sends a first request; the warm-up is over when the promise settles. Never rejects. Absent: no
   * warm-up.
   */
  warmUp?(): Promise<void>;
  /**
   * Puts the engine to sleep or wakes it; returns whether that worked. Never rejects. Absent: not
   * supported.
   */
  sleep?(): Promise<boolean>;
  wake?(): Promise<boolean>;
  /**
   * Resolves when the GPU memory of an exited engine is free again. Never rejects. Absent: at once.
   */
  reclaimed?(): Promise<void>;
}

/** Starts the engines of a slot. */
export interface Driver {
  /** Begins a start. Reports come later, never from inside this call. */
  start(report: (report: RunReport) => void): Run;
  /**
   * Whether an engine already runs that an earlier Naru, or someone else, started. Never rejects.
   * Absent: none does.
   */
  isUp?(): Promise<boolean>;
  /** Naru exits; engines that outlive it are detached. Absent: none outlives it. */
  leave?(): void;
}
