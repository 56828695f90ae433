import type { Goal as Checked } from '../audit.ts';

/** One line of a chaos run. */
export interface Outcome {
  readonly name: string;
  readonly wanted: string;
  readonly found: string;
  /** Null: it could not be tried here, and `found` has the reason. */
  readonly met: boolean | null;
  /** The faults against it; the first few are printed. */
  readonly faults?: readonly string[];
}

/** How a goal is to be run. */
export interface GoalRun {
  readonly seed: number;
  /** A tenth of the counts, for a quick run. */
  readonly quick: boolean;
  readonly print: (line: string) => void;
}

/** The faults of several checks in one list, each with its check. */
export function faultsOf(checked: readonly Checked[]): readonly string[] {
  return checked.flatMap(({ goal, faults }) => faults.map((fault) => `${goal}: ${fault}`));
}

/** An outcome that is met when it has no faults. */
export function outcome(name: string, wanted: string, found: string, faults: readonly string[]): Outcome {
  return { name, wanted, found, met: faults.length === 0, faults };
}
