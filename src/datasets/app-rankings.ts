import { z } from 'zod';
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
import type { Day } from './days.ts';
import {
  hasRows,
  type Period,
  type PeriodDays,
  readLatestPeriod,
  readPeriodDays,
  writePeriods,
} from './periods-sql.ts';
import { sampleAppPeriod, samplePeriodDays } from './samples.ts';
import { members, SourceFault, type SourceReader } from './source.ts';

const key = { dataset: 'app-rankings', series: '' };
const path = '/datasets/app-rankings';
/** The maximum number of rows in a page of the source. */
const pageRows = 100;
/** The source skips at most this many rows (spec:compat/11.5), so ranks up to 200 can be read. */
const maxOffset = 100;
const { text, count, tokens, day, asOf } = members;
const names = z.array(text).nullish();

const appRow = z
  .object({
    rank: z.int().min(1),
    app_id: z.int(),
    app_name: text,
    total_tokens: tokens.nullish(),
    total_requests: count.nullish(),
    origin_url: text.nullish(),
    main_url: text.nullish(),
    description: text.nullish(),
    categories: names,
    category: names,
    growth_pct: z.number().nullish(),
  })
  .transform((row) => {
    const categories = row.categories ?? row.category ?? [];
    return {
      app_id: row.app_id,
      app_name: row.app_name,
      rank: row.rank,
      total_requests: row.total_requests ?? null,
      total_tokens: row.total_tokens ?? null,
      // The origin address if present, else the main one (spec:api/18.11).
      url: row.origin_url || row.main_url || null,
      description: row.description ?? null,
      category: categories[0] ?? null,
      subcategory: categories[1] ?? null,
      // Null, and not 0, when the source states none (spec:api/18.14).
      growth_pct: row.growth_pct ?? null,
    };
  });
const appPage = z.object({
  data: z.array(appRow).max(pageRows),
  meta: z
    .object({ as_of: asOf, start_date: day, end_date: day })
    .refine((meta) => meta.start_date <= meta.end_date, 'the period ends before it starts'),
});
type AppPage = z.output<typeof appPage>;

/** An app in one period, as it is published (spec:api/18.6 to 18.14). */
export type AppRow = z.output<typeof appRow>;
/** One period of the app ranking: by rank, from 1, without gaps. */
export type AppPeriod = Period<AppRow>;

/**
 * Reads the source's latest period page by page and publishes it as a whole (spec:api/18). Throws as
 * `SourceReader.read` does.
 */
export async function syncApps({ reader, database, clock }: SyncParts): Promise<Synced> {
  const [first, ...others] = await readPages(reader);
  if (first === undefined) return { rows: 0, through: null };
  const rows = [first, ...others].flatMap((page) => page.data);
  const { start_date: startDay, end_date: endDay, as_of } = first.meta;
  const syncedAtMs = clock.now();
  const period = { startDay, endDay, asOfMs: as_of ?? syncedAtMs, syncedAtMs, rows, about: null };
  await database.transaction((sql) => writePeriods(sql, key, [period]));
  return { rows: rows.length, through: isoDay(endDay) };
}

async function readPages(reader: SourceReader): Promise<readonly AppPage[]> {
  const pages: AppPage[] = [];
  for (let offset = 0; offset <= maxOffset; ) {
    const page = await reader.read(path, queryAfter(pages, offset), appPage);
    // A short page does not mark the end: only an empty one does.
    if (page.data.length === 0) break;
    pages.push(page);
    assertConsistent(pages);
    offset += page.data.length;
  }
  return pages;
}

/**
 * The first page is of the latest period; the others request the same one, whatever the time is by
 * then.
 */
function queryAfter([first]: readonly AppPage[], offset: number): Record<string, string> {
  const page = { sort: 'popular', limit: String(pageRows), offset: String(offset) };
  if (first === undefined) return page;
  return { ...page, start_date: isoDay(first.meta.start_date), end_date: isoDay(first.meta.end_date) };
}

/**
 * One period, ranks from 1 without gaps, each app once, most tokens first: anything else is of data
 * that changed while its pages were read.
 */
function assertConsistent(pages: readonly AppPage[]): void {
  const [first] = pages;
  if (
    pages.some(
      ({ meta }) => meta.start_date !== first?.meta.start_date || meta.end_date !== first.meta.end_date,
    )
  )
    throw new SourceFault(`${path}: pages are of different periods`);
  const rows = pages.flatMap((page) => page.data);
  if (rows.some((row, index) => row.rank !== index + 1))
    throw new SourceFault(`${path}: ranks are doubled or missing`);
  if (new Set(rows.map((row) => row.app_id)).size < rows.length)
    throw new SourceFault(`${path}: an app has two ranks`);
  const tokens = rows.flatMap((row) => (row.total_tokens === null ? [] : [BigInt(row.total_tokens)]));
  if (tokens.some((count, index) => count > (tokens[index - 1] ?? count)))
    throw new SourceFault(`${path}: an app has more tokens than the one before it`);
}

/** The query of the app ranking (spec:api/18). */
export interface AppQuery {
  /** The last day on which the period may end; null for the latest. */
  readonly endDay: Day | null;
  readonly limit: number;
  readonly offset: number;
  readonly category?: string | undefined;
  readonly subcategory?: string | undefined;
}

/**
 * One period of the app ranking: the latest that ends on or before the requested day. Ranks are
 * those of the whole period, whatever the filters. Empty, with null dates, when there is no such
 * period (spec:api/18).
 */
export async function appRankings(parts: DatasetParts, query: AppQuery): Promise<DatasetResponse> {
  const { limit, offset } = query;
  const { period, source } = await periodFor(parts, query.endDay);
  if (period === null) {
    const none = { as_of: null, start_date: null, end_date: null };
    return { data: [], meta: { ...none, limit, offset, version: 'v1', ...noAttribution } };
  }
  const [start, end] = [isoDay(period.startDay), isoDay(period.endDay)];
  const synced = { period_start: start, period_end: end, source, synced_at: isoOf(period.syncedAtMs) };
  const rows = period.rows.filter(
    (row) =>
      (query.category === undefined || row.category === query.category) &&
      (query.subcategory === undefined || row.subcategory === query.subcategory),
  );
  return {
    data: rows.slice(offset, offset + limit).map((row) => ({ ...row, ...synced })),
    meta: {
      as_of: isoOf(period.asOfMs),
      start_date: start,
      end_date: end,
      limit,
      offset,
      version: 'v1',
      ...(source === 'upstream' ? attributionOf('apps', period.asOfMs) : noAttribution),
    },
  };
}

/** What the app ranking can be narrowed to. */
export interface AppChoices {
  /** The latest first. */
  readonly periods: readonly PeriodDays[];
  /** Those of the requested period, with their subcategories, by name. */
  readonly categories: readonly { readonly name: string; readonly subcategories: readonly string[] }[];
}

const shownPeriods = 24;

/** The periods there are, and the categories of the one that a query selects. */
export async function appChoices(parts: DatasetParts, endDay: Day | null): Promise<AppChoices> {
  const { period, source } = await periodFor(parts, endDay);
  const subcategories = new Map<string, Set<string>>();
  for (const { category, subcategory } of period?.rows ?? []) {
    if (category === null) continue;
    const known = subcategories.get(category) ?? new Set();
    if (subcategory !== null) known.add(subcategory);
    subcategories.set(category, known);
  }
  const stored = source === 'upstream' ? await readPeriodDays(parts.database, key, shownPeriods) : null;
  return {
    periods: stored ?? samplePeriodDays(parts.clock.now()),
    categories: [...subcategories]
      .map(([name, of]) => ({ name, subcategories: [...of].toSorted() }))
      .toSorted((one, two) => (one.name < two.name ? -1 : 1)),
  };
}

/** The latest stored period that ends on or before a day, or of all; null when there is none. */
export function readAppPeriod(sql: Sql, throughDay: Day | null): Promise<AppPeriod | null> {
  return readLatestPeriod<AppRow>(sql, key, throughDay);
}

/** Once anything of the source is stored, no sample is shown, whatever the query. */
async function periodFor(
  { database, clock, samples }: DatasetParts,
  endDay: Day | null,
): Promise<{ readonly period: AppPeriod | null; readonly source: 'upstream' | 'fixture' }> {
  const period = await readAppPeriod(database, endDay);
  if (period !== null || !samples || (await hasRows(database, key.dataset)))
    return { period, source: 'upstream' };
  return { period: sampleAppPeriod(endDay, clock.now()), source: 'fixture' };
}
