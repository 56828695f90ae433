import { seoulDay, seoulMonthStart, startOfDay } from './time.ts';

const dayMs = 86_400_000;

/** The spans of time that every page offers, in days of Seoul. */
export const rangeKinds = ['today', '7d', '30d', 'month', 'custom'] as const;
export type RangeKind = (typeof rangeKinds)[number];

/** A range as it stands in the URL: `custom` has both days, inclusive, `YYYY-MM-DD`. */
export interface Range {
  readonly range: RangeKind;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** The first and the last day in Seoul of a range at the instant `nowMs`. */
export function daysOf(range: Range, nowMs: number): { readonly from: string; readonly to: string } {
  const today = seoulDay(nowMs);
  switch (range.range) {
    case 'today':
      return { from: today, to: today };
    case '7d':
      return { from: seoulDay(nowMs, -6), to: today };
    case '30d':
      return { from: seoulDay(nowMs, -29), to: today };
    case 'month':
      return { from: seoulMonthStart(nowMs), to: today };
    case 'custom':
      return { from: range.from ?? today, to: range.to ?? range.from ?? today };
  }
}

/** The API has no hours of a longer span. */
export const maxDaysOfHours = 8;

/** Whether a range is short enough for hours. */
export function hasHours(range: Range): boolean {
  if (range.range !== 'custom') return range.range === 'today' || range.range === '7d';
  const from = startOfDay(range.from ?? '');
  const to = startOfDay(range.to ?? '');
  return from !== null && to !== null && to - from < maxDaysOfHours * dayMs;
}

/** What is wrong with a custom range; null when nothing is. */
export function problemOfDays(from: string, to: string): 'invalid' | 'reversed' | null {
  const [start, end] = [startOfDay(from), startOfDay(to)];
  if (start === null || end === null) return 'invalid';
  return start > end ? 'reversed' : null;
}
