import type { BenchmarkItem, BenchmarkSnapshot } from './benchmarks-sql.ts';
import { instantOf, lastCompletedDay, monthStart } from './days.ts';

const names = ['한강 1', '남산 미니', '설악 70B', '제주 코드'];

/**
 * Sample benchmarks of sample models. In OpenRouter's shapes `source` determines the members of a
 * row, and the official client rejects a value that it does not know: so samples are marked by
 * `fixture`, by their names, and by having no citation.
 */
export function sampleBenchmarks(nowMs: number): BenchmarkSnapshot {
  const atMs = instantOf(monthStart(lastCompletedDay(nowMs)));
  const items = names.flatMap((name, index) => itemsOf(name, index));
  return { asOfMs: atMs, syncedAtMs: atMs, items, sources: {} };
}

function itemsOf(name: string, index: number): readonly BenchmarkItem[] {
  const named = {
    fixture: true,
    model_permaslug: `sample/model-${index + 1}`,
    display_name: `${name} (샘플)`,
  };
  const pricing = { prompt: '0.000001', completion: '0.000003' };
  const run = { total_tasks: 300, avg_cost_per_task: null, last_run_timestamp: '2026-01-01T00:00:00Z' };
  return [
    {
      ...named,
      source: 'artificial-analysis',
      intelligence_index: 70 - index * 4,
      coding_index: 64 - index * 3,
      agentic_index: index === 3 ? null : 58 - index * 5,
      pricing,
    },
    {
      ...named,
      source: 'design-arena',
      arena: 'models',
      category: index % 2 === 0 ? 'codecategories' : 'dataviz',
      elo: 1_400 - index * 25,
      win_rate: 72 - index * 6,
      avg_generation_time_ms: null,
      tournament_stats: { first_place: 12, second_place: 8, third_place: 5, fourth_place: 2, total: 27 },
      pricing,
    },
    {
      ...named,
      source: 'openrouter',
      benchmark_type: 'gpqa_diamond',
      accuracy: 0.72 - index * 0.05,
      accuracy_stddev: null,
      ...run,
    },
  ];
}
