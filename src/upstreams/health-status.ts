import type { CircuitLimits, CircuitState } from './circuit.ts';
import type { CoolDownLimits } from './cool-down.ts';
import type { Percentiles } from './percentiles.ts';

/** How one candidate has done lately. Windows are milliseconds back from now. */
export interface CandidateHealth {
  /**
   * Successes among the attempts that ended, in percent; null when there was none. What the client's request was to blame for and
   * rate limits count neither way, as with OpenRouter.
   */
  uptime(windowMs: number): number | null;
  /** Milliseconds from asking to the first words of a stream, half an hour back at most; null when nothing was streamed. */
  latency(windowMs: number): Percentiles | null;
  /** Completion tokens a second, from asking to the end: p99 is what 99 % of the answers reach. Null without an answer. */
  throughput(windowMs: number): Percentiles | null;
  /** The attempts that ended, those that failed among them; what counts neither way is not in it. */
  attempts(windowMs: number): number;
}

/** How a candidate stands right now: what the order of a chain goes by. */
export interface HealthStatus {
  readonly circuit: CircuitState;
  /** Failures in a row. */
  readonly failures: number;
  /** Civil instant at which the circuit opened, epoch milliseconds; null while it is closed. */
  readonly openedAtMs: number | null;
  /** Until a request may try an open circuit. */
  readonly probeInMs: number;
  /** What is left of a cool-down that it asked for; 0: none. */
  readonly coolingMs: number;
  /** Lately it failed about as often as it worked, though never often enough in a row to open the circuit. */
  readonly unsteady: boolean;
}

/** What a plan reads of the health of candidates, by their label. */
export interface HealthView {
  of(label: string): CandidateHealth;
  standing(label: string): HealthStatus;
}

/** When candidates are asked later than others. */
export type HealthLimits = CircuitLimits & CoolDownLimits;

/** A candidate that is not known to be anything but well. */
export const well: HealthStatus = {
  circuit: 'closed',
  failures: 0,
  openedAtMs: null,
  probeInMs: 0,
  coolingMs: 0,
  unsteady: false,
};

/** What holds unless the configuration says otherwise. */
export const defaultHealthLimits: HealthLimits = {
  failures: 5,
  openMs: 10_000,
  maxOpenMs: 300_000,
  coolDownMs: 5_000,
  maxCoolDownMs: 600_000,
};

/** The health of candidates of which nothing is known. */
export const noHealthData: HealthView = {
  of: () => ({ uptime: () => null, latency: () => null, throughput: () => null, attempts: () => 0 }),
  standing: () => well,
};
