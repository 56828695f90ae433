import { CoarseTimers } from './coarse-timers.ts';
import type { Timer } from './timer.ts';

export type { Timer } from './timer.ts';

/**
 * The source of time. Civil time is for records and periods, monotonic time for durations; the two
 * never mix.
 */
export interface Clock {
  /** Civil time, milliseconds since the Unix epoch. May jump. */
  now(): number;
  /** Monotonic time in milliseconds with a fraction. Never goes back. */
  monotonic(): number;
  /**
   * Calls `task` once after `delayMs` of monotonic time unless cancelled; a delay of seconds may
   * end up to a tenth of a second late.
   */
  after(delayMs: number, task: () => void): Timer;
}

/** A clock whose civil time is not the machine's but that of the database. */
export interface FollowingClock extends Clock {
  /** How far the machine's civil time is ahead, milliseconds; below zero when it is behind. */
  readonly aheadMs: number;
}

/**
 * A machine's clock that differs from that of the database by more than this is reported, and a
 * stored instant that is further in the future was stored by a clock that was wrong.
 */
export const maxClockSkewMs = 1_000;

/**
 * Whether an instant is less than `maxMs` ago. One in the future is not: it is an error of a clock,
 * and would be recent for as long as that was ahead (spec:money/7.9).
 */
export function isRecent(atMs: number, nowMs: number, maxMs: number): boolean {
  const agoMs = nowMs - atMs;
  return agoMs >= -maxClockSkewMs && agoMs < maxMs;
}

/** From this delay on a timer may be up to 100 ms late. */
const coarseFromMs = 5_000;
const coarseTimers = new CoarseTimers(() => performance.now());

/** The machine's time: the only code that reads it, with `CoarseTimers`. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, task) {
    if (delayMs >= coarseFromMs) return coarseTimers.after(delayMs, task);
    return new SystemTimer(setTimeout(task, delayMs));
  },
};

class SystemTimer implements Timer {
  readonly #handle: NodeJS.Timeout;

  constructor(handle: NodeJS.Timeout) {
    this.#handle = handle;
  }

  cancel(): void {
    clearTimeout(this.#handle);
  }
}

/** ISO 8601 in UTC with milliseconds, as every timestamp of the API (spec:api/4.10). */
export function isoOf(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** The same; null for what has not happened. */
export function isoOrNull(epochMs: number | null): string | null {
  return epochMs === null ? null : isoOf(epochMs);
}

/**
 * Beyond it a year has five digits, which neither ISO 8601 nor the database writes as plain digits.
 */
const lastMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/**
 * Epoch milliseconds of an ISO 8601 instant from 1970 to 9999 that states its offset; null for
 * anything else, an impossible date included.
 */
export function parseInstant(text: string): number | null {
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/.test(text)) return null;
  const day = text.slice(0, 10);
  if (!Number.isFinite(Date.parse(day)) || isoOf(Date.parse(day)).slice(0, 10) !== day) return null;
  const ms = Date.parse(text);
  return ms >= 0 && ms <= lastMs ? ms : null;
}

/**
 * Resolves after `delayMs` of the clock's time, or rejects with the signal's reason when that comes
 * first.
 */
export function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const timer = clock.after(delayMs, () => {
      signal.removeEventListener('abort', stop);
      resolve();
    });
    const stop = (): void => {
      timer.cancel();
      reject(signal.reason);
    };
    signal.addEventListener('abort', stop, { once: true });
  });
}

/**
 * The outcome of the work, or `otherwise` when that takes longer than `limitMs`. The work continues
 * all the same.
 */
export async function within<T, L = T>(
  clock: Clock,
  limitMs: number,
  work: Promise<T>,
  otherwise: L,
): Promise<T | L> {
  const late = Promise.withResolvers<L>();
  const timer = clock.after(limitMs, () => late.resolve(otherwise));
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    timer.cancel();
  }
}
