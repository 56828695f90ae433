import type { Engine, ProbeAnswer } from './state.ts';

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
}

/** How a slot comes by its engine. */
export interface Driver {
  /** Begins a start. Reports come later, never from inside this call. */
  start(report: (report: RunReport) => void): Run;
}
