import type { RequestHour, RequestHours } from './request-hours-sql.ts';

/** What one page of a list of all requests looks at. */
export interface RequestSpans {
  /** Half-open, of creation; the newest first. */
  readonly spans: readonly { readonly fromMs: number; readonly toMs: number }[];
  /** Where the next page goes on, before this instant; null: all was looked at. */
  readonly nextMs: number | null;
}

const hourMs = 3_600_000;

/**
 * The newest hours that may have `wanted` matching requests, with about `maxScanned` requests at
 * most: hours without a match are left out. A request was settled in the hour of its creation or in
 * the next one; of hours that are not rolled up yet anything may be expected.
 */
export function spansOfRequests(
  { hours, rolledUntilMs }: RequestHours,
  {
    fromMs,
    toMs,
    wanted,
    maxScanned,
  }: { readonly fromMs: number; readonly toMs: number; readonly wanted: number; readonly maxScanned: number },
): RequestSpans {
  const byStart = new Map(hours.map((hour) => [hour.startMs, hour]));
  const rolledUntil = rolledUntilMs ?? Number.NEGATIVE_INFINITY;
  const lastRolled = hours.reduce<RequestHour | null>(
    (last, hour) => (last === null || hour.startMs > last.startMs ? hour : last),
    null,
  );
  const spans: { fromMs: number; toMs: number }[] = [];
  let scanned = 0;
  let matched = 0;
  for (let at = Math.floor((toMs - 1) / hourMs) * hourMs; at + hourMs > fromMs; at -= hourMs) {
    const isKnown = at + 2 * hourMs <= rolledUntil;
    const own = byStart.get(at);
    const matching = (own?.matching ?? 0) + (byStart.get(at + hourMs)?.matching ?? 0);
    if (isKnown && matching === 0) continue;
    const requests = isKnown ? (own?.requests ?? 0) : (lastRolled?.requests ?? 0);
    const end = Math.min(toMs, at + hourMs);
    if (scanned + requests > maxScanned) {
      if (scanned > 0) return { spans, nextMs: end };
      // One hour is more than a page may read: its end.
      const start = Math.max(fromMs, at, end - Math.ceil((hourMs * maxScanned) / requests));
      return { spans: [...spans, { fromMs: start, toMs: end }], nextMs: start > fromMs ? start : null };
    }
    const last = spans.at(-1);
    const start = Math.max(fromMs, at);
    if (last?.fromMs === end) last.fromMs = start;
    else spans.push({ fromMs: start, toMs: end });
    scanned += requests;
    matched += isKnown ? (own?.matching ?? 0) : 0;
    if (matched >= wanted) return { spans, nextMs: start > fromMs ? start : null };
  }
  return { spans, nextMs: null };
}
