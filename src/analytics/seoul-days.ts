import { isoDay, seoulDayAt, seoulDayStartMs } from '../time/period.ts';
import type { HourSpan } from './facts-sql.ts';

const dayMs = 86_400_000;

/** The beginning of the Seoul day of an instant. */
export function startOfDay(atMs: number): number {
  return seoulDayStartMs(seoulDayAt(atMs));
}

/** The Seoul day of an instant, `YYYY-MM-DD`. */
export function dayText(atMs: number): string {
  return isoDay(seoulDayAt(atMs));
}

/** A span cut at midnight in Seoul; `day` is `YYYY-MM-DD` where a part is a whole day. */
export function spansOfDays(
  fromMs: number,
  toMs: number,
): readonly (HourSpan & { readonly day: string | null })[] {
  const spans: (HourSpan & { readonly day: string | null })[] = [];
  for (let at = fromMs; at < toMs; ) {
    const end = Math.min(toMs, startOfDay(at) + dayMs);
    spans.push({ fromMs: at, toMs: end, day: end - at === dayMs ? dayText(at) : null });
    at = end;
  }
  return spans;
}
