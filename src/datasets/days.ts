import { isoDay } from '../time/period.ts';

/**
 * A calendar day as the number of days since 1970-01-01: the datasets count in UTC days
 * (spec:compat/11.2).
 */
export type Day = number;

const dayMs = 86_400_000;
/** The source's datasets begin here. */
export const firstDay: Day = 20_089; // 2025-01-01
/** The days of a window without a start date. */
export const defaultSpan = 30;
/** The longest window of the model ranking, both ends counted. */
export const maxWindowDays = 366;

/** The day of `YYYY-MM-DD`; null for any other form and for impossible dates. */
export function parseDay(text: string): Day | null {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return null;
  const day = Date.parse(text) / dayMs;
  return Number.isInteger(day) && isoDay(day) === text ? day : null;
}

/** The last UTC day that has ended at `nowMs`. */
export function lastCompletedDay(nowMs: number): Day {
  return Math.floor(nowMs / dayMs) - 1;
}

/** The UTC day of an instant. */
export function utcDayAt(epochMs: number): Day {
  return Math.floor(epochMs / dayMs);
}

/** The Monday of a day's ISO week. Day 0 was a Thursday. */
export function weekStart(day: Day): Day {
  return day - ((((day - 4) % 7) + 7) % 7);
}

/** The first day of a day's month, or of the month `later` months after it. */
export function monthStart(day: Day, later = 0): Day {
  const text = isoDay(day);
  return Date.UTC(Number(text.slice(0, 4)), Number(text.slice(5, 7)) - 1 + later, 1) / dayMs;
}

/** The instant at which a UTC day begins. */
export function instantOf(day: Day): number {
  return day * dayMs;
}
