import { z } from 'zod';
import { refuse } from '../errors/catalogue.ts';
import { messages, requirements } from '../errors/messages.ts';
import type { Sql } from '../store/sql.ts';
import { isoOf } from '../time/clock.ts';
import { isoDay } from '../time/period.ts';
import {
  attributionOf,
  type DatasetParts,
  type DatasetResponse,
  noAttribution,
  type Synced,
  type SyncParts,
} from './dataset.ts';
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
import { hasRows, type Period, readLatestPeriod, readPeriods, writePeriods } from './periods-sql.ts';
import { sampleModelRows } from './samples.ts';
import { allSeries, type Series } from './series.ts';
import { members } from './source.ts';

const dataset = 'rankings-daily';

/** The tokens of a model on a day, or in the week that begins on it. */
export interface ModelRow {
  readonly day: Day;
  /** `other` is the sum of every model without a row of its own. */
  readonly model: string;
  /** Up to 30 digits. */
  readonly totalTokens: bigint;
}

/** A model and its tokens, as the period of one date has them. */
type StoredRow = readonly [string, string];

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
  const from = series.grain === 'week' ? weekStart(start) : start;
  const stored = await readModelSeries(database, series.name, from, end);
  if (stored !== null) return { ...stored, source: 'upstream' };
  if (!samples || (await hasRows(database, dataset))) return null;
  const lastDay = lastCompletedDay(clock.now());
  const rows = sampleModelRows(series, from, Math.min(end, lastDay));
  return { rows, asOfMs: instantOf(lastDay + 1), source: 'fixture' };
}

/** The rows of a series between two days, and the time of its data; null when it was never read. */
export async function readModelSeries(
  sql: Sql,
  series: string,
  from: Day,
  to: Day,
): Promise<{ readonly rows: readonly ModelRow[]; readonly asOfMs: number } | null> {
  const { periods, latest } = await readPeriods<StoredRow>(sql, { dataset, series }, from, to);
  if (latest === null) return null;
  const rows = periods.flatMap(({ endDay: day, rows }) =>
    rows.map(([model, tokens]) => ({ day, model, totalTokens: BigInt(tokens) })),
  );
  return { rows, asOfMs: latest.asOfMs };
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

/**
 * Days that are read again at every sync, because the source still updates them. Two weeks for
 * weekly series.
 */
const readAgain = { day: 3, week: 14 };
/** Days of one request: about 5,000 rows, and a year of weeks. */
const windowDays = { day: 92, week: 364 };

/**
 * Brings every series up to the last day that is over, oldest window first. Each window is
 * published as a whole, and the next sync continues after the last one. Throws as
 * `SourceReader.read` does.
 */
export async function syncModels(parts: SyncParts): Promise<Synced> {
  const lastDay = lastCompletedDay(parts.clock.now());
  let rows = 0;
  for (const series of allSeries) {
    const through = await readThrough(parts.database, series.name);
    const fresh = through === null ? firstDay : through + 1 - readAgain[series.grain];
    for (let from = beginning(series, fresh); from <= lastDay; from += windowDays[series.grain]) {
      const to = Math.min(lastDay, from + windowDays[series.grain] - 1);
      const added = await syncWindow(parts, series, { start: from, end: to });
      rows += added;
    }
  }
  return { rows, through: isoDay(lastDay) };
}

/** The day up to which a series has been read; null when it never was. */
export async function readThrough(sql: Sql, series: string): Promise<Day | null> {
  return (await readLatestPeriod(sql, { dataset, series }, null))?.endDay ?? null;
}

async function syncWindow(
  { reader, database, clock }: SyncParts,
  series: Series,
  { start, end }: Window,
): Promise<number> {
  const window = { start_date: isoDay(Math.max(firstDay, start)), end_date: isoDay(end) };
  const shape = windowShape(beginning(series, start), end);
  const { data, meta } = await reader.read(`/datasets/${dataset}`, { ...series.query, ...window }, shape);
  const syncedAtMs = clock.now();
  // The last day states how far the series has been read, also when it has no rows.
  const dates = new Map<Day, StoredRow[]>([[end, []]]);
  for (const row of data) {
    const date = dates.get(row.date) ?? [];
    date.push([row.model_permaslug, row.total_tokens]);
    dates.set(row.date, date);
  }
  const periods = [...dates].map(([day, rows]): Period<StoredRow> => {
    return { startDay: day, endDay: day, asOfMs: meta.as_of ?? syncedAtMs, syncedAtMs, rows, about: null };
  });
  await database.transaction((sql) => writePeriods(sql, { dataset, series: series.name }, periods));
  return data.length;
}

function windowShape(from: Day, to: Day) {
  const { day, text, tokens, asOf } = members;
  const date = day.refine((one) => one >= from && one <= to, 'the day was not requested');
  return z.object({
    data: z
      .array(z.object({ date, model_permaslug: text.pipe(z.string().min(1)), total_tokens: tokens }))
      .refine(
        (rows) => new Set(rows.map((row) => `${row.date} ${row.model_permaslug}`)).size === rows.length,
        'a model has two rows on one day',
      ),
    meta: z.object({ as_of: asOf, start_date: day, end_date: day }),
  });
}

/** The start, at the source, of a window that begins on `day`: weeks begin on their Monday. */
function beginning(series: Series, day: Day): Day {
  const notBefore = Math.max(firstDay, day);
  return series.grain === 'week' ? weekStart(notBefore) : notBefore;
}
