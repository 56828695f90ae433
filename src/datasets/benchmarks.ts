import { isoOf } from '../time/clock.ts';
import type { DatasetParts, DatasetResponse } from './app-rankings.ts';
import { type BenchmarkItem, type BenchmarkSnapshot, readBenchmarks } from './benchmarks-sql.ts';
import { sampleBenchmarks } from './sample-benchmarks.ts';

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

/** The query of the benchmarks; null where a filter is not set. */
export interface BenchmarkQuery {
  readonly source: (typeof benchmarkSources)[number] | null;
  readonly taskType: (typeof taskTypes)[number] | null;
  readonly benchmarkType: (typeof benchmarkTypes)[number] | null;
  readonly includeRunConfig: boolean;
  readonly searchEngine: string | null;
  readonly searchSurface: string | null;
  readonly arena: (typeof arenas)[number] | null;
  readonly category: string | null;
  readonly maxResults: number | null;
}

/**
 * The benchmarks that match, in OpenRouter's shapes and in its order (spec:compat/11). Empty, as of
 * now, before any sync.
 */
export async function benchmarks(parts: DatasetParts, query: BenchmarkQuery): Promise<DatasetResponse> {
  const stored = await readBenchmarks(parts.database);
  const snapshot = stored ?? (parts.samples ? sampleBenchmarks(parts.clock.now()) : null);
  const found = (snapshot?.items ?? []).filter((item) => matches(item, query));
  const items = found.slice(0, query.maxResults ?? found.length);
  return {
    data: query.includeRunConfig ? items : items.map(({ run_config: _, ...item }) => item),
    meta: {
      as_of: isoOf(snapshot?.asOfMs ?? parts.clock.now()),
      version: 'v1',
      source: query.source,
      ...publishers(snapshot, query, items),
      model_count: new Set(items.map((item) => item.model_permaslug)).size,
      task_type: query.taskType,
    },
  };
}

function matches(item: BenchmarkItem, query: BenchmarkQuery): boolean {
  const { source: shape } = item;
  if (query.source !== null && shape !== query.source) return false;
  if (!suits(item, shape, query.taskType)) return false;
  const isSearch = 'search_engine' in item;
  const wantsSearch = query.benchmarkType?.startsWith('search_') === true;
  if (wantsSearch && !isSearch) return false;
  if (
    shape === 'openrouter' &&
    query.benchmarkType !== null &&
    item['benchmark_type'] !== query.benchmarkType
  )
    return false;
  if (isSearch && query.searchEngine !== null && item['search_engine'] !== query.searchEngine) return false;
  if (isSearch && query.searchSurface !== null && item['search_surface'] !== query.searchSurface)
    return false;
  if (shape !== 'design-arena') return true;
  const arena = query.arena ?? (query.source === 'design-arena' ? 'models' : null);
  return (
    (arena === null || item['arena'] === arena) &&
    (query.category === null || item['category'] === query.category)
  );
}

/** Whether an item is about a kind of task. */
function suits(item: BenchmarkItem, shape: unknown, task: BenchmarkQuery['taskType']): boolean {
  if (task === null) return true;
  if (task === 'search') return 'search_engine' in item;
  if (shape === 'artificial-analysis') return (item[`${task}_index`] ?? null) !== null;
  if (shape === 'design-arena')
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
  const source = query.source === null ? undefined : snapshot?.sources[query.source];
  return {
    source_url: source?.source_url ?? null,
    citation: source?.citation ?? null,
    citations: Object.entries(snapshot?.sources ?? {}).flatMap(([source, { citation }]) =>
      shown.has(source) && citation !== null ? [citation] : [],
    ),
  };
}
