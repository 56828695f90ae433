import type { CircuitState } from './circuit.ts';
import type { Percentiles } from './rolling-windows.ts';

/** The windows of the endpoint records (spec:compat/8.2,8.3). */
export const fiveMinutesMs = 300_000;
export const halfAnHourMs = 1_800_000;
export const oneDayMs = 86_400_000;

/** The recent results of one candidate. Windows are milliseconds back from now. */
export interface CandidateHealth {
  /**
   * Successes among the completed attempts, in percent; null when there were none. Client errors
   * and rate limits are excluded, as in OpenRouter.
   */
  uptime(windowMs: number): number | null;
  /**
   * Milliseconds from the request to the first content of a stream, over at most half an hour; null
   * without a stream.
   */
  latency(windowMs: number): Percentiles | null;
  /**
   * Completion tokens per second, from the request to the end: 99 % of the responses reach p99.
   * Null without a response.
   */
  throughput(windowMs: number): Percentiles | null;
  /** The completed attempts, including the failed ones; excluded attempts are not in it. */
  attempts(windowMs: number): number;
}

/** The current state of a candidate, which the order of a chain uses. */
export interface HealthStatus {
  readonly circuit: CircuitState;
  /** Consecutive failures. */
  readonly failures: number;
  /** Civil instant at which the circuit opened, epoch milliseconds; null while it is closed. */
  readonly openedAtMs: number | null;
  /** Milliseconds until a request may probe an open circuit. */
  readonly probeInMs: number;
  /** Milliseconds left of a cool-down; 0: none. */
  readonly coolingMs: number;
  /**
   * Recently it failed about as often as it succeeded, but never often enough in a row to open the
   * circuit.
   */
  readonly unsteady: boolean;
}

/** What a plan reads of the candidates' health, by label. */
export interface HealthView {
  of(label: string): CandidateHealth;
  statusOf(label: string): HealthStatus;
}

/** A candidate without known problems. */
export const healthy: HealthStatus = {
  circuit: 'closed',
  failures: 0,
  openedAtMs: null,
  probeInMs: 0,
  coolingMs: 0,
  unsteady: false,
};

/** The health of candidates without data. */
export const noHealthData: HealthView = {
  of: () => ({ uptime: () => null, latency: () => null, throughput: () => null, attempts: () => 0 }),
  statusOf: () => healthy,
};
