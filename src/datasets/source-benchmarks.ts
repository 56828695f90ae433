import { z } from 'zod';
import type { BenchmarkItem, BenchmarkSource } from './benchmarks-sql.ts';
import { asOf, read } from './source-shapes.ts';

/** A page of the source's benchmarks. */
export interface BenchmarkPage {
  readonly asOfMs: number | null;
  readonly items: readonly BenchmarkItem[];
  readonly publisher: BenchmarkSource;
}

const score = z.number();
const maybe = z
  .number()
  .nullish()
  .transform((value) => value ?? null);
const pricing = z
  .object({ prompt: z.string(), completion: z.string() })
  .nullish()
  .transform((value) => value ?? null);
const named = { model_permaslug: z.string(), display_name: z.string() };
const position = z
  .int()
  .nullish()
  .transform((value) => value ?? null);

const artificialAnalysis = z.object({
  source: z.literal('artificial-analysis'),
  ...named,
  intelligence_index: maybe,
  coding_index: maybe,
  agentic_index: maybe,
  pricing,
});

const designArena = z.object({
  source: z.literal('design-arena'),
  ...named,
  arena: z.string(),
  category: z.string(),
  elo: score,
  win_rate: score,
  avg_generation_time_ms: maybe,
  tournament_stats: z.object({
    first_place: position,
    second_place: position,
    third_place: position,
    fourth_place: position,
    total: position,
  }),
  pricing,
});

const runs = {
  ...named,
  benchmark_type: z.string(),
  total_tasks: z.int(),
  avg_cost_per_task: maybe,
  last_run_timestamp: z.string(),
};

const search = z.object({
  source: z.literal('openrouter'),
  ...runs,
  primary_metric: z.string(),
  primary_score: score,
  avg_latency_per_task_ms: maybe,
  search_engine: z.string(),
  search_surface: z.string(),
  run_config: z
    .object({ max_agent_turns: position, reasoning_effort: z.string().nullable(), temperature: maybe })
    .optional(),
});

const own = z.object({
  source: z.literal('openrouter'),
  ...runs,
  accuracy: score,
  accuracy_stddev: maybe,
});

const page = z.object({
  data: z.array(z.union([artificialAnalysis, designArena, search, own])),
  meta: z.object({ as_of: asOf, citation: z.string().nullish(), source_url: z.string().nullish() }),
});

/**
 * Parses a page of `/benchmarks` in OpenRouter's shape (spec:compat/11), without unknown members.
 * Throws a `SourceFault`.
 */
export function benchmarkPageOf(json: unknown): BenchmarkPage {
  const { data, meta } = read(page, json);
  const publisher = { citation: meta.citation ?? null, source_url: meta.source_url ?? null };
  return { asOfMs: meta.as_of, items: data, publisher };
}
