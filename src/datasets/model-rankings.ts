import { refuse } from '../errors/catalogue.ts';
import { messages, requirements } from '../errors/messages.ts';
import { isoOf } from '../time/clock.ts';
import { isoDay } from '../time/period.ts';
import type { DatasetParts, DatasetResponse } from './app-rankings.ts';
import {
  type Day,
  defaultSpan,
  firstDay,
  instantOf,
  lastCompletedDay,
  maxWindowDays,
  monthStart,
  weekStart,
} from './days.ts';
import { attributionOf, noAttribution } from './licence.ts';
import { hasModelRows, type ModelRow, readModelSeries } from './models-sql.ts';
import { sampleModelRows } from './sample-models.ts';

/** A time grain of the model ranking. */
export const grains = ['day', 'week', 'month'] as const;
export type Grain = (typeof grains)[number];

/** The query of the model ranking (spec:compat/11). */
export interface ModelQuery {
  readonly startDay: Day | null;
  readonly endDay: Day | null;
  readonly grain: Grain;
  /**
   * The name of a series of `series.ts`, and its own grain; null for a slice that is not synced.
   */
  readonly series: { readonly name: string; readonly grain: 'day' | 'week' } | null;
}

/** Models with a row of their own on one date; the rest are in `other`. */
const modelsPerDate = 50;
const other = 'other';

interface Window {
  readonly start: Day;
  readonly end: Day;
}

/**
 * Tokens by date and model: dates ascending, most tokens first, `other` last, ties by name
 * (spec:api/19.1). Throws `invalid_request` for a window that OpenRouter would reject.
 */
export async function modelRankings(parts: DatasetParts, query: ModelQuery): Promise<DatasetResponse> {
  const window = windowOf(query, lastCompletedDay(parts.clock.now()));
  const found = query.series === null ? null : await rowsFor(parts, query.series, window);
  // OpenRouter's own client requires an instant and dates also without data.
  if (found === null) return { data: [], meta: metaOf(parts.clock.now(), window, false) };
  const { source } = found;
  const data = ranked(found.rows, query.grain).map((row) => ({
    date: isoDay(row.day),
    model_permaslug: row.model,
    total_tokens: String(row.totalTokens),
    source,
  }));
  return { data, meta: metaOf(found.asOfMs, window, source === 'upstream') };
}

function windowOf(query: ModelQuery, lastDay: Day): Window {
  const end = query.endDay ?? lastDay;
  if (end < firstDay)
    throw refuse('invalid_request', messages.invalidValue('end_date', requirements.minDate('2025-01-01')));
  const start = Math.max(firstDay, query.startDay ?? end - defaultSpan);
  if (start > end)
    throw refuse('invalid_request', messages.invalidValue('start_date', requirements.notAfter('end_date')));
  if (end - start + 1 > maxWindowDays) throw refuse('invalid_request', messages.windowTooLong(maxWindowDays));
  return { start, end };
}

interface Found {
  readonly rows: readonly ModelRow[];
  readonly asOfMs: number;
  readonly source: 'upstream' | 'fixture';
}

async function rowsFor(
  { database, clock, samples }: DatasetParts,
  series: NonNullable<ModelQuery['series']>,
  { start, end }: Window,
): Promise<Found | null> {
  const isWeekly = series.grain === 'week';
  const from = isWeekly ? weekStart(start) : start;
  const stored = await readModelSeries(database, series.name, from, end);
  if (stored !== null) return { ...stored, source: 'upstream' };
  if (!samples || (await hasModelRows(database))) return null;
  const lastDay = lastCompletedDay(clock.now());
  const rows = sampleModelRows(series, from, Math.min(end, lastDay));
  return { rows, asOfMs: instantOf(lastDay + 1), source: 'fixture' };
}

function metaOf(asOfMs: number, { start, end }: Window, isUpstream: boolean): object {
  return {
    as_of: isoOf(asOfMs),
    version: 'v1',
    start_date: isoDay(start),
    end_date: isoDay(end),
    ...(isUpstream ? attributionOf('rankings', asOfMs) : noAttribution),
  };
}

/**
 * Sums rows by date of the grain, keeps the first models of each date and adds the rest to `other`.
 */
export function ranked(rows: readonly ModelRow[], grain: Grain): readonly ModelRow[] {
  const dates = new Map<Day, Map<string, bigint>>();
  for (const row of rows) {
    const date = dateOf(row.day, grain);
    const sums = dates.get(date) ?? new Map<string, bigint>();
    sums.set(row.model, (sums.get(row.model) ?? 0n) + row.totalTokens);
    dates.set(date, sums);
  }
  return [...dates].sort(([one], [two]) => one - two).flatMap(([day, sums]) => rankedDate(day, sums));
}

function rankedDate(day: Day, sums: ReadonlyMap<string, bigint>): readonly ModelRow[] {
  const models = [...sums]
    .filter(([model]) => model !== other)
    .sort(([oneName, one], [twoName, two]) =>
      one === two ? (oneName < twoName ? -1 : 1) : one > two ? -1 : 1,
    )
    .map(([model, totalTokens]) => ({ day, model, totalTokens }));
  const rest = models.slice(modelsPerDate).reduce((sum, row) => sum + row.totalTokens, sums.get(other) ?? 0n);
  const tail = rest === 0n ? [] : [{ day, model: other, totalTokens: rest }];
  return [...models.slice(0, modelsPerDate), ...tail];
}

function dateOf(day: Day, grain: Grain): Day {
  switch (grain) {
    case 'day':
      return day;
    case 'week':
      return weekStart(day);
    case 'month':
      return monthStart(day);
  }
}
