import { createHash } from 'node:crypto';
import { type Day, instantOf, lastCompletedDay, monthStart, weekStart } from './days.ts';
import type { PeriodDays } from './periods-sql.ts';

/** Sample periods are the calendar months that are over, this many of them. */
const months = 3;
const appCount = 120;

const places = ['한강', '남산', '서울숲', '해운대', '설악', '경포', '다도해', '백록담', '섬진강', '오죽헌'];
const kinds = [
  { name: '코드', category: 'coding', subcategory: 'cli-agent' },
  { name: '편집기', category: 'coding', subcategory: 'ide-extension' },
  { name: '글방', category: 'creative', subcategory: 'creative-writing' },
  { name: '비서', category: 'productivity', subcategory: 'personal-agent' },
  { name: '이야기', category: 'entertainment', subcategory: 'roleplay' },
  { name: '수다', category: 'productivity', subcategory: null },
];
const mark = ' (샘플)';

/**
 * The sample period that is shown without a sync key (spec:api/18.19): the last calendar month that
 * is over and ends on or before `endDay`; null when that is before all of them. The same at every
 * call within a month.
 */
export function sampleAppPeriod(endDay: Day | null, nowMs: number) {
  const today = lastCompletedDay(nowMs) + 1;
  for (let back = 0; back < months; back += 1) {
    const nextStart = monthStart(today, -back);
    const end = nextStart - 1;
    if (endDay !== null && end > endDay) continue;
    const atMs = instantOf(nextStart);
    const rows = Array.from({ length: appCount }, (_, index) => sampleRow(index + 1, back));
    return { startDay: monthStart(end), endDay: end, asOfMs: atMs, syncedAtMs: atMs, rows, about: null };
  }
  return null;
}

/** The days of all sample periods, the latest first. */
export function samplePeriodDays(nowMs: number): readonly PeriodDays[] {
  const today = lastCompletedDay(nowMs) + 1;
  return Array.from({ length: months }, (_, back) => {
    const endDay = monthStart(today, -back) - 1;
    return { startDay: monthStart(endDay), endDay };
  });
}

function sampleRow(rank: number, back: number) {
  const kind = kinds[rank % kinds.length];
  const round = Math.ceil(rank / places.length);
  const name = `${places[rank % places.length]} ${kind?.name} ${round}${mark}`;
  // The first exceeds a JavaScript number: a client that parses these must support that.
  const tokens = 98_765_432_109_876_543_210n / BigInt(rank * rank * (back + 1));
  return {
    app_id: 900_000 + rank,
    app_name: name,
    rank,
    total_requests: Math.floor(9_000_000 / (rank * (back + 1))),
    total_tokens: String(tokens),
    url: `https://sample-${rank}.example/`,
    description: '지어낸 예시입니다. An invented example.',
    category: kind?.category ?? null,
    subcategory: kind?.subcategory ?? null,
    // The oldest period has none before it; every seventh app is new.
    growth_pct: back === months - 1 || rank % 7 === 0 ? null : ((rank * 37) % 400) / 10 - 12,
  };
}

const models = ['hangang-1', 'namsan-mini', 'seorak-70b', 'jeju-code', 'gyeongpo-vision', 'dadohae-3'];

/**
 * Sample tokens of sample models, `sample/…`, and of `other`: the same at every call
 * (spec:api/18.19, sample mode).
 */
export function sampleModelRows(
  series: { readonly name: string; readonly grain: 'day' | 'week' },
  from: Day,
  to: Day,
) {
  const days = Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index).filter(
    (day) => series.grain === 'day' || day === weekStart(day),
  );
  return days.flatMap((day) =>
    [...models.map((name) => `sample/${name}`), 'other'].map((model) => ({
      day,
      model,
      totalTokens: 10_000_000_000n + invented(`${series.name} ${model} ${day}`),
    })),
  );
}

/** A number of up to ten digits, derived from the text. */
function invented(text: string): bigint {
  return BigInt(createHash('sha256').update(text).digest().readUInt32BE(0));
}

const benchmarked = ['한강 1', '남산 미니', '설악 70B', '제주 코드'];

/**
 * Sample benchmarks of sample models. In OpenRouter's shapes `source` determines the members of a
 * row, and the official client rejects a value that it does not know: so samples are marked by
 * `fixture`, by their names, and by having no citation.
 */
export function sampleBenchmarks(nowMs: number) {
  const day = monthStart(lastCompletedDay(nowMs));
  const atMs = instantOf(day);
  const rows = benchmarked.flatMap((name, index) => itemsOf(name, index));
  return { startDay: day, endDay: day, asOfMs: atMs, syncedAtMs: atMs, rows, about: {} };
}

function itemsOf(name: string, index: number) {
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
