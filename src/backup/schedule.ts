import type { ScheduleConfig } from '../config/config.ts';
import { isRecent } from '../time/clock.ts';
import { seoulDayStartMs } from '../time/period.ts';

const minuteMs = 60_000;
const hourMs = 3_600_000;
const firstRetryMs = minuteMs;
const maxRetryMs = hourMs;

/** What earlier runs of a kind tell about the next one. */
export interface RunHistory {
  /** When the last good run began; null: there was none. */
  readonly goodAtMs: number | null;
  /** The failed runs since then. */
  readonly failedSince: number;
  /** When the last failed run ended; null: none did. */
  readonly failedAtMs: number | null;
}

/** The last instant of a schedule that is not after `nowMs`. */
export function latestRunMs({ everyHours, atMinute }: ScheduleConfig, nowMs: number): number {
  const everyMs = everyHours * hourMs;
  const anchorMs = seoulDayStartMs(0) + atMinute * minuteMs;
  return anchorMs + Math.floor((nowMs - anchorMs) / everyMs) * everyMs;
}

/**
 * Whether a run is due: none was good since the last instant of the schedule. So a run that was
 * missed while no server ran is made up for, and the first run is due at once. A failed one is
 * retried after a minute, then after twice as long each time, up to an hour. A run in the future is
 * one of a clock that was wrong: it counts for nothing.
 */
export function isDue(schedule: ScheduleConfig, history: RunHistory, nowMs: number): boolean {
  const { goodAtMs, failedSince, failedAtMs } = history;
  const sinceMs = nowMs - latestRunMs(schedule, nowMs);
  if (goodAtMs !== null && isRecent(goodAtMs, nowMs, sinceMs + 1)) return false;
  if (failedSince === 0 || failedAtMs === null) return true;
  return !isRecent(
    failedAtMs,
    nowMs,
    Math.min(maxRetryMs, firstRetryMs * 2 ** Math.min(failedSince - 1, 10)),
  );
}
