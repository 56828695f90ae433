import { z } from 'zod';
import {
  arenas,
  benchmarkSources,
  benchmarkTypes,
  searchSurfaces,
  taskTypes,
} from '../../datasets/benchmarks.ts';
import { parseDay } from '../../datasets/days.ts';
import { grains } from '../../datasets/model-rankings.ts';
import { contextBuckets, languageTypes, modalities, useCases } from '../../datasets/series.ts';
import { messages, requirements } from '../../errors/messages.ts';
import { must } from '../../wire/parse-with.ts';
import { appRankingsShape, benchmarksShape, rankingsDailyShape } from '../../wire/shapes/datasets.ts';
import { booleanText, integerText, parameter, wordText } from '../../wire/shapes/query.ts';
import { documents } from '../document.ts';

/** A UTC day as `YYYY-MM-DD` (spec:api/18.2). */
const day = parameter(parseDay, requirements.date, { format: 'date' }).optional();

const samples = {
  ko: '동기화 키가 없으면 가상의 예시 데이터(`source: fixture`)를 반환하고, 예시 데이터도 끄면 결과가 비어 있습니다. 빈 결과는 오류가 아닙니다.',
  en: 'Without a sync key, the rows are invented sample data (`source: fixture`), or empty when samples are off. An empty result is not an error.',
};

export const appRankingsDocument = documents({
  summary: { ko: '앱 순위', en: 'Rank apps in one period' },
  description: samples,
  query: z.object({
    end_date: day.describe('The latest period that ends on or before this day'),
    limit: integerText(1, 100).optional(),
    offset: integerText(0).optional(),
    category: wordText().optional(),
    subcategory: wordText().optional(),
  }),
  response: { status: 200, shape: appRankingsShape },
  failures: ['invalid_request'],
});

const slices = {
  modality: z.enum(modalities).optional(),
  context_bucket: z.enum(contextBuckets).optional(),
  category: z
    .enum(useCases)
    .optional()
    .describe('Cannot be combined with another filter or with `period=day`'),
  language_type: z
    .enum(languageTypes)
    .optional()
    .describe('Cannot be combined with another filter or with `period=day`'),
};
type Slices = z.output<z.ZodObject<typeof slices>>;

/** The filters of a query, by parameter. */
export function slicesOf({ modality, context_bucket, category, language_type }: Slices) {
  return Object.entries({ modality, context_bucket, category, language_type }).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, value }],
  );
}

/** Whether the query has a filter whose data are samples of a week. */
export function isSampled({ category, language_type }: Slices): boolean {
  return category !== undefined || language_type !== undefined;
}

export const rankingsDailyDocument = documents({
  summary: { ko: '날짜별 모델 순위', en: 'Rank models by date' },
  description: samples,
  query: z
    .object({ ...slices, period: z.enum(grains).optional(), start_date: day, end_date: day })
    .refine((query) => !isSampled(query) || slicesOf(query).length === 1, {
      error: () => messages.exclusiveFilters(),
    })
    .refine((query) => !isSampled(query) || query.period !== 'day', {
      path: ['period'],
      error: must(requirements.sampledPeriod),
    }),
  response: { status: 200, shape: rankingsDailyShape },
  failures: ['invalid_request'],
});

export const benchmarksDocument = documents({
  summary: { ko: '모델 벤치마크', en: 'Read benchmarks of models' },
  description: samples,
  query: z.object({
    source: z.enum(benchmarkSources).optional(),
    task_type: z.enum(taskTypes).optional(),
    benchmark_type: z.enum(benchmarkTypes).optional(),
    include_run_config: booleanText().optional().describe('true: items have their run configuration'),
    search_engine: wordText().optional(),
    search_surface: z.enum(searchSurfaces).optional(),
    arena: z.enum(arenas).optional(),
    category: wordText().optional(),
    max_results: integerText(1).optional(),
  }),
  response: { status: 200, shape: benchmarksShape },
  failures: ['invalid_request'],
});
