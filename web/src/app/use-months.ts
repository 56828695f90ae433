import { type Instant, seoulMonths, startOfDay } from '../format/time.ts';
import { useFormat } from '../i18n/use-format.ts';
import type { Option } from '../ui/field.tsx';
import { useNow } from '../ui/states.tsx';

/**
 * The months since an instant for a list, the latest first, and `chosen` (empty: none) although it
 * is earlier. A browser's own field of months has its words in the language of the browser, and two
 * browsers have none.
 */
export function useMonths(since: Instant | undefined, chosen: string): readonly Option[] {
  const format = useFormat();
  const nowMs = useNow(60_000);
  const known = seoulMonths(since ?? nowMs, nowMs);
  const months = chosen === '' || known.includes(chosen) ? known : [...known, chosen];
  return months.map((value) => ({ value, label: format.month(startOfDay(`${value}-01`) ?? nowMs) }));
}
