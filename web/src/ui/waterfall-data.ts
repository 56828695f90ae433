import type { ReactNode } from 'react';
import type { Micro } from '../format/money.ts';

/** How an attempt at a candidate ended. `skipped` was never tried. */
export type CandidateOutcome = 'won' | 'failed' | 'cancelled' | 'skipped';

/** The parts of an attempt, in their order. */
export const phases = ['queue', 'connect', 'firstByte', 'firstToken', 'stream'] as const;
export type Phase = (typeof phases)[number];

/** One candidate of a request. */
export interface WaterfallCandidate {
  readonly id: string;
  /** The slot or the provider. */
  readonly name: string;
  /** The model that it was asked for, when it differs. */
  readonly detail?: string;
  readonly outcome: CandidateOutcome;
  /** When the attempt began, in milliseconds since the request arrived; null when it was skipped. */
  readonly startMs: number | null;
  /** How long each part took; a part that did not happen is left out. */
  readonly phaseMs: Readonly<Partial<Record<Phase, number>>>;
  /** Why it answered or was dropped, in words. */
  readonly reason: ReactNode;
  /** What it cost; null when it was free. */
  readonly costMicro: Micro | null;
}

export interface WaterfallProps {
  readonly candidates: readonly WaterfallCandidate[];
  readonly label: string;
}

/** A part of an attempt on the time axis. */
export interface Part {
  readonly phase: Phase;
  readonly ms: number;
  readonly fromMs: number;
}

/** The parts of an attempt that happened, one behind the other. */
export function partsOf({ startMs, phaseMs }: WaterfallCandidate): readonly Part[] {
  let atMs = startMs ?? 0;
  return phases.flatMap((phase) => {
    const ms = phaseMs[phase];
    if (ms === undefined) return [];
    const part = { phase, ms, fromMs: atMs };
    atMs += ms;
    return [part];
  });
}

/** When the attempt ended, in milliseconds since the request arrived. */
export function endOf({ startMs, phaseMs }: WaterfallCandidate): number {
  return (startMs ?? 0) + phases.reduce((sum, phase) => sum + (phaseMs[phase] ?? 0), 0);
}
