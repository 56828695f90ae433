import { z } from 'zod';
import { appRankingsShape, benchmarksShape, rankingsDailyShape } from '../../wire/shapes/datasets.ts';
import { documents } from '../document.ts';

const day = z.iso.date().optional();

const samples = {
  ko: '동기화 키가 없으면 가상의 표본(`source: fixture`)을 반환하고, 표본도 끄면 결과가 비어 있습니다. 빈 결과는 오류가 아닙니다.',
  en: 'Without a sync key the rows are fictitious samples (`source: fixture`), or none when samples are off. An empty result is not an error.',
};

export const appRankingsDocument = documents({
  summary: { ko: '앱 순위', en: 'Rank apps in one period' },
  description: samples,
  query: z.object({
    end_date: day.describe('The latest period that ends on or before this day'),
    limit: z.int().min(1).max(100).optional(),
    offset: z.int().min(0).optional(),
    category: z.string().optional(),
    subcategory: z.string().optional(),
  }),
  answer: { status: 200, shape: appRankingsShape },
  failures: ['invalid_request'],
});

export const rankingsDailyDocument = documents({
  summary: { ko: '날짜별 모델 순위', en: 'Rank models by date' },
  description: samples,
  query: z.object({
    start_date: day,
    end_date: day,
    period: z.enum(['day', 'week', 'month']).optional(),
    modality: z.string().optional(),
    context_bucket: z.string().optional(),
    category: z.string().optional(),
    language_type: z.string().optional(),
  }),
  answer: { status: 200, shape: rankingsDailyShape },
  failures: ['invalid_request'],
});

export const benchmarksDocument = documents({
  summary: { ko: '벤치마크', en: 'Read benchmarks of models' },
  description: samples,
  query: z.object({
    source: z.string().optional(),
    task_type: z.string().optional(),
    benchmark_type: z.string().optional(),
    arena: z.string().optional(),
    category: z.string().optional(),
    max_results: z.int().min(1).optional(),
  }),
  answer: { status: 200, shape: benchmarksShape },
  failures: ['invalid_request'],
});
