import type { Engine, ProbeAnswer } from '../scheduler/state.ts';

/** What a run tells about itself, in this order; any of the first two may be missing. */
export type RunReport =
  | { readonly kind: 'spawned'; readonly engine: Engine }
  | { readonly kind: 'exited'; readonly reason: string; readonly collision: boolean }
  /** Once, and only after `terminate` or `kill`. */
  | { readonly kind: 'gone' };

/** One start of an engine, from the first attempt until nothing of it is left. */
export interface Run {
  /** Whether the engine serves. Never rejects. */
  probe(): Promise<ProbeAnswer>;
  /** Asks the engine to go; at any time, also before it was spawned. */
  terminate(): void;
  /** Makes the engine go. */
  kill(): void;
  /** A first request of ours, over when the promise is. Never rejects. Without it there is none. */
  warmUp?(): Promise<void>;
  /** Puts the engine to sleep or wakes it; whether that worked. Never rejects. Without them it cannot. */
  sleep?(): Promise<boolean>;
  wake?(): Promise<boolean>;
  /** Resolves when the GPU memory of an engine that is gone is free again. Never rejects. Without it that is so at once. */
  reclaimed?(): Promise<void>;
}

/** How a slot comes by its engine. */
export interface Driver {
  /** Begins a start. Reports come later, never from inside this call. */
  start(report: (report: RunReport) => void): Run;
  /** Whether an engine is up already that an earlier Naru, or somebody else, started. Never rejects. Without it there is none. */
  isUp?(): Promise<boolean>;
  /** Naru ends, and engines that outlive it are let go of. Without it none outlives it. */
  leave?(): void;
}
