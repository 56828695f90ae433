import { z } from 'zod';
import type { Sql } from '../store/sql.ts';
import { isoOf } from '../time/clock.ts';
import { isoDay } from '../time/period.ts';
import type { DatasetParts, DatasetResponse, Synced, SyncParts } from './dataset.ts';
import { utcDayAt } from './days.ts';
import { deletePeriods, type Period, readLatestPeriod, writePeriods } from './periods-sql.ts';
import { sampleBenchmarks } from './samples.ts';
import { members } from './source.ts';

const key = { dataset: 'benchmarks', series: '' };

/**
 * A row of the benchmarks in OpenRouter's shape: its `source` determines its members
 * (spec:compat/11).
 */
export interface BenchmarkItem {
  readonly source: string;
  readonly model_permaslug: string;
  readonly [member: string]: unknown;
}

/** How each publisher is to be cited, by the `source` of its items. */
type Publishers = Readonly<
  Record<string, { readonly citation: string | null; readonly source_url: string | null }>
>;

/** All benchmarks at one time, in the order of the source. */
export type BenchmarkSnapshot = Period<BenchmarkItem, Publishers>;

/** The publishers of benchmarks, and the filters of OpenRouter (spec:compat/11). */
export const benchmarkSources = ['artificial-analysis', 'design-arena', 'openrouter'] as const;
export const taskTypes = ['coding', 'intelligence', 'agentic', 'search'] as const;
export const arenas = ['models', 'builders', 'agents'] as const;
export const searchSurfaces = ['server-tool', 'plugin'] as const;
export const benchmarkTypes = [
  'gpqa_diamond',
  'tau_bench_verified_airline',
  'search_browsecomp',
  'search_hle',
  'search_dsqa',
  'search_widesearch',
] as const;

/** The query of the benchmarks, by the names of its parameters. */
export interface BenchmarkQuery {
  readonly source?: (typeof benchmarkSources)[number] | undefined;
  readonly task_type?: (typeof taskTypes)[number] | undefined;
  readonly benchmark_type?: (typeof benchmarkTypes)[number] | undefined;
  readonly include_run_config?: boolean | undefined;
  readonly search_engine?: string | undefined;
  readonly search_surface?: string | undefined;
  readonly arena?: (typeof arenas)[number] | undefined;
  readonly category?: string | undefined;
  readonly max_results?: number | undefined;
}

/**
 * The benchmarks that match, in OpenRouter's shapes and in its order (spec:compat/11). Empty, as of
 * now, before any sync.
 */
export async function benchmarks(parts: DatasetParts, query: BenchmarkQuery): Promise<DatasetResponse> {
  const stored = await readBenchmarks(parts.database);
  const snapshot: BenchmarkSnapshot | null =
    stored ?? (parts.samples ? sampleBenchmarks(parts.clock.now()) : null);
  const found = (snapshot?.rows ?? []).filter((item) => matches(item, query));
  const items = found.slice(0, query.max_results);
  return {
    data: query.include_run_config === true ? items : items.map(({ run_config: _, ...item }) => item),
    meta: {
      as_of: isoOf(snapshot?.asOfMs ?? parts.clock.now()),
      version: 'v1',
      source: query.source ?? null,
      ...publishers(snapshot, query, items),
      model_count: new Set(items.map((item) => item.model_permaslug)).size,
      task_type: query.task_type ?? null,
    },
  };
}

function matches(item: BenchmarkItem, query: BenchmarkQuery): boolean {
  const { source } = item;
  const isSearch = 'search_engine' in item;
  if (!passes(source, query.source) || !suits(item, query.task_type)) return false;
  if (query.benchmark_type?.startsWith('search_') === true && !isSearch) return false;
  if (source === 'openrouter' && !passes(item['benchmark_type'], query.benchmark_type)) return false;
  if (isSearch)
    return (
      passes(item['search_engine'], query.search_engine) &&
      passes(item['search_surface'], query.search_surface)
    );
  if (source !== 'design-arena') return true;
  const arena = query.arena ?? (query.source === 'design-arena' ? 'models' : undefined);
  return passes(item['arena'], arena) && passes(item['category'], query.category);
}

/** Whether a value passes a filter; an absent one lets every value pass. */
function passes(value: unknown, filter: string | undefined): boolean {
  return filter === undefined || value === filter;
}

/** Whether an item is about a kind of task. */
function suits(item: BenchmarkItem, task: BenchmarkQuery['task_type']): boolean {
  const { source } = item;
  if (task === undefined) return true;
  if (task === 'search') return 'search_engine' in item;
  if (source === 'artificial-analysis') return (item[`${task}_index`] ?? null) !== null;
  if (source === 'design-arena')
    return task === 'coding'
      ? item['category'] === 'codecategories'
      : task === 'agentic' && item['arena'] === 'agents';
  const type = { coding: null, intelligence: 'gpqa_diamond', agentic: 'tau_bench_verified_airline' }[task];
  return item['benchmark_type'] === type;
}

/**
 * The citations of the publishers: `citation` when there is one source, as in OpenRouter, and in
 * `citations` all of them.
 */
function publishers(
  snapshot: BenchmarkSnapshot | null,
  query: BenchmarkQuery,
  items: readonly BenchmarkItem[],
): object {
  const shown = new Set(items.map((item) => item.source));
  const source = query.source === undefined ? undefined : snapshot?.about[query.source];
  return {
    source_url: source?.source_url ?? null,
    citation: source?.citation ?? null,
    citations: Object.entries(snapshot?.about ?? {}).flatMap(([source, { citation }]) =>
      shown.has(source) && citation !== null ? [citation] : [],
    ),
  };
}

/** The benchmarks of the last sync; null before. */
export function readBenchmarks(sql: Sql): Promise<BenchmarkSnapshot | null> {
  return readLatestPeriod(sql, key, null);
}

/**
 * The queries that together return everything: each names a publisher, and an arena is only
 * returned by its name.
 */
const queries: readonly { readonly source: string; readonly [parameter: string]: string }[] = [
  { source: 'artificial-analysis' },
  { source: 'design-arena', arena: 'models' },
  { source: 'design-arena', arena: 'builders' },
  { source: 'design-arena', arena: 'agents' },
  { source: 'openrouter', include_run_config: 'true' },
  { source: 'openrouter', task_type: 'search', include_run_config: 'true' },
];

/** Reads all benchmarks and replaces the earlier ones. Throws as `SourceReader.read` does. */
export async function syncBenchmarks({ reader, database, clock }: SyncParts): Promise<Synced> {
  const items = new Map<string, BenchmarkItem>();
  const about: Record<string, Publishers[string]> = {};
  const times: number[] = [];
  for (const query of queries) {
    const { data, meta } = await reader.read('/benchmarks', query, page);
    // Two queries may return the same item.
    for (const item of data) items.set(identityOf(item), item);
    about[query.source] ??= { citation: meta.citation ?? null, source_url: meta.source_url ?? null };
    if (meta.as_of !== null) times.push(meta.as_of);
  }
  if (items.size === 0) return { rows: 0, through: null };
  const syncedAtMs = clock.now();
  const asOfMs = times.length === 0 ? syncedAtMs : Math.min(...times);
  const day = utcDayAt(asOfMs);
  const snapshot = { startDay: day, endDay: day, asOfMs, syncedAtMs, rows: [...items.values()], about };
  await database.transaction(async (sql) => {
    await deletePeriods(sql, key.dataset);
    await writePeriods(sql, key, [snapshot]);
  });
  return { rows: items.size, through: isoDay(day) };
}

const identity = [
  'source',
  'model_permaslug',
  'benchmark_type',
  'arena',
  'category',
  'search_engine',
  'search_surface',
];

function identityOf(item: BenchmarkItem): string {
  return JSON.stringify(identity.map((member) => item[member] ?? null));
}

/** A member that may be absent or null at the source, and is null here. */
function orNull<T extends z.ZodType>(shape: T) {
  return shape.nullish().transform((value) => value ?? null);
}

const maybe = orNull(z.number());
const position = orNull(z.int());
const pricing = orNull(z.object({ prompt: z.string(), completion: z.string() }));
const named = { model_permaslug: z.string(), display_name: z.string() };
const runs = {
  source: z.literal('openrouter'),
  ...named,
  benchmark_type: z.string(),
  total_tasks: z.int(),
  avg_cost_per_task: maybe,
  last_run_timestamp: z.string(),
};
const runConfig = z.object({
  max_agent_turns: position,
  reasoning_effort: z.string().nullable(),
  temperature: maybe,
});

/** A page of `/benchmarks` in OpenRouter's shape (spec:compat/11), without unknown members. */
const page = z.object({
  data: z.array(
    z.union([
      z.object({
        source: z.literal('artificial-analysis'),
        ...named,
        intelligence_index: maybe,
        coding_index: maybe,
        agentic_index: maybe,
        pricing,
      }),
      z.object({
        source: z.literal('design-arena'),
        ...named,
        arena: z.string(),
        category: z.string(),
        elo: z.number(),
        win_rate: z.number(),
        avg_generation_time_ms: maybe,
        tournament_stats: z.object({
          first_place: position,
          second_place: position,
          third_place: position,
          fourth_place: position,
          total: position,
        }),
        pricing,
      }),
      z.object({
        ...runs,
        primary_metric: z.string(),
        primary_score: z.number(),
        avg_latency_per_task_ms: maybe,
        search_engine: z.string(),
        search_surface: z.string(),
        run_config: runConfig.optional(),
      }),
      z.object({ ...runs, accuracy: z.number(), accuracy_stddev: maybe }),
    ]),
  ),
  meta: z.object({
    as_of: members.asOf,
    citation: z.string().nullish(),
    source_url: z.string().nullish(),
  }),
});
