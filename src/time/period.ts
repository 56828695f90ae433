/**
 * Spend periods (spec:money/7.1,7.2): the half-open span [start, end) of instants, in epoch
 * milliseconds, cut at midnight in Asia/Seoul.
 *
 * Seoul has kept UTC+9 without daylight saving since 1988, so its midnight is arithmetic; the test
 * compares it with ICU.
 */
export const limitResets = ['never', 'daily', 'weekly', 'monthly'] as const;
export type LimitReset = (typeof limitResets)[number];

export interface Period {
  readonly startMs: number;
  readonly endMs: number;
}

const dayMs = 86_400_000;
const seoulOffsetMs = 9 * 3_600_000;
/** Day 0 of the epoch was a Thursday, so days congruent to 4 modulo 7 are Mondays. */
const mondayRemainder = 4;

/** The period of kind `reset` that contains the instant `atMs`. */
export function periodAt(reset: LimitReset, atMs: number): Period {
  const day = seoulDayAt(atMs);
  switch (reset) {
    case 'never':
      return { startMs: Number.NEGATIVE_INFINITY, endMs: Number.POSITIVE_INFINITY };
    case 'daily':
      return spanOfDays(day, day + 1);
    case 'weekly':
      return spanOfDays(weekStartDay(day), weekStartDay(day) + 7);
    case 'monthly':
      return spanOfDays(monthStartDay(day, 0), monthStartDay(day, 1));
  }
}

/** The first instant of a Seoul day. */
export function seoulDayStartMs(day: number): number {
  return day * dayMs - seoulOffsetMs;
}

/** The Seoul calendar day of an instant, as days since 1970-01-01. */
export function seoulDayAt(atMs: number): number {
  return Math.floor((atMs + seoulOffsetMs) / dayMs);
}

/**
 * The first Seoul day of the period of kind `reset` that contains the day; negative infinity for
 * `never`.
 */
export function periodStartDay(reset: LimitReset, day: number): number {
  switch (reset) {
    case 'never':
      return Number.NEGATIVE_INFINITY;
    case 'daily':
      return day;
    case 'weekly':
      return weekStartDay(day);
    case 'monthly':
      return monthStartDay(day, 0);
  }
}

/** The Seoul days of a month `YYYY-MM`: from `startDay` to before `endDay`. */
export function monthOf(month: string): { readonly startDay: number; readonly endDay: number } {
  const startDay = Date.parse(`${month}-01T00:00:00Z`) / dayMs;
  return { startDay, endDay: monthStartDay(startDay, 1) };
}

/** `YYYY-MM-DD` of a day number. */
export function isoDay(day: number): string {
  return new Date(day * dayMs).toISOString().slice(0, 10);
}

/** ISO 8601 in Seoul time, such as `2026-01-31T09:00:00.000+09:00`. */
export function seoulIsoOf(epochMs: number): string {
  return `${new Date(epochMs + seoulOffsetMs).toISOString().slice(0, -1)}+09:00`;
}

function weekStartDay(day: number): number {
  return day - ((((day - mondayRemainder) % 7) + 7) % 7);
}

function monthStartDay(day: number, monthsLater: number): number {
  const date = new Date(day * dayMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + monthsLater, 1) / dayMs;
}

function spanOfDays(startDay: number, endDay: number): Period {
  return { startMs: seoulDayStartMs(startDay), endMs: seoulDayStartMs(endDay) };
}
