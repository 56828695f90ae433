import { daysOf, type Range } from '../format/range.ts';
import { startOfDay } from '../format/time.ts';

const dayMs = 86_400_000;

/** A range as half-open instants, for rows that take `from` and `to` only. */
export function instantsOf(range: Range): { readonly from: string; readonly to: string } {
  const { from, to } = daysOf(range, Date.now());
  return {
    from: new Date(startOfDay(from) ?? 0).toISOString(),
    to: new Date((startOfDay(to) ?? 0) + dayMs).toISOString(),
  };
}
