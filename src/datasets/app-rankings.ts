import type { Database } from '../store/database.ts';
import { type Clock, isoOf } from '../time/clock.ts';
import { isoDay } from '../time/period.ts';
import {
  type AppPeriod,
  type AppRow,
  hasAppPeriods,
  type PeriodDays,
  readAppPeriod,
  readAppPeriodDays,
} from './apps-sql.ts';
import type { Day } from './days.ts';
import { attributionOf, noAttribution } from './licence.ts';
import { sampleAppPeriod, samplePeriodDays } from './sample-apps.ts';

/** What reading a dataset needs. */
export interface DatasetParts {
  readonly database: Database;
  readonly clock: Clock;
  /** Whether sample rows are shown where the source has none. */
  readonly samples: boolean;
}

/** The response of a dataset: rows, and their metadata. */
export interface DatasetResponse {
  readonly data: readonly object[];
  readonly meta: object;
}

/** The query of the app ranking (spec:api/18). */
export interface AppQuery {
  /** The last day on which the period may end; null for the latest. */
  readonly endDay: Day | null;
  readonly limit: number;
  readonly offset: number;
  readonly category: string | null;
  readonly subcategory: string | null;
}

/**
 * One period of the app ranking: the latest that ends on or before the requested day. Ranks are
 * those of the whole period, whatever the filters. Empty, with null dates, when there is no such
 * period (spec:api/18).
 */
export async function appRankings(parts: DatasetParts, query: AppQuery): Promise<DatasetResponse> {
  const { period, source } = await periodFor(parts, query.endDay);
  const rows = (period?.rows ?? []).filter(
    (row) =>
      (query.category === null || row.category === query.category) &&
      (query.subcategory === null || row.subcategory === query.subcategory),
  );
  const page = rows.slice(query.offset, query.offset + query.limit);
  return {
    data: period === null ? [] : page.map((row) => entry(row, period, source)),
    meta: {
      as_of: period === null ? null : isoOf(period.asOfMs),
      start_date: period === null ? null : isoDay(period.startDay),
      end_date: period === null ? null : isoDay(period.endDay),
      limit: query.limit,
      offset: query.offset,
      version: 'v1',
      ...(period !== null && source === 'upstream' ? attributionOf('apps', period.asOfMs) : noAttribution),
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
  const stored = source === 'upstream' ? await readAppPeriodDays(parts.database, shownPeriods) : null;
  return {
    periods: stored ?? samplePeriodDays(parts.clock.now()),
    categories: [...subcategories]
      .map(([name, of]) => ({ name, subcategories: [...of].toSorted() }))
      .toSorted((one, two) => (one.name < two.name ? -1 : 1)),
  };
}

interface Found {
  readonly period: AppPeriod | null;
  readonly source: 'upstream' | 'fixture';
}

/** Once anything of the source is stored, no sample is shown, whatever the query. */
async function periodFor({ database, clock, samples }: DatasetParts, endDay: Day | null): Promise<Found> {
  const period = await readAppPeriod(database, endDay);
  if (period !== null || !samples || (await hasAppPeriods(database))) return { period, source: 'upstream' };
  return { period: sampleAppPeriod(endDay, clock.now()), source: 'fixture' };
}

/** The 14 fields of spec:api/18. */
function entry(row: AppRow, period: AppPeriod, source: Found['source']): object {
  return {
    app_id: row.appId,
    app_name: row.appName,
    rank: row.rank,
    total_requests: row.totalRequests,
    total_tokens: row.totalTokens,
    url: row.url,
    description: row.description,
    category: row.category,
    subcategory: row.subcategory,
    growth_pct: row.growthPct,
    period_start: isoDay(period.startDay),
    period_end: isoDay(period.endDay),
    source,
    synced_at: isoOf(period.syncedAtMs),
  };
}
