import type { z } from 'zod';
import { appRankings } from '../datasets/app-rankings.ts';
import { benchmarks } from '../datasets/benchmarks.ts';
import type { DatasetParts } from '../datasets/dataset.ts';
import { type ModelQuery, modelRankings } from '../datasets/model-rankings.ts';
import { sliceName } from '../datasets/series.ts';
import {
  appRankingsDocument,
  benchmarksDocument,
  isSampled,
  rankingsDailyDocument,
  slicesOf,
} from './documents/datasets.ts';
import { route } from './route.ts';

/**
 * The datasets (spec:api/18,19 spec:compat/11). Unknown parameters are ignored, also OpenRouter's
 * `sort` and `start_date` of the app ranking. Having no data is never an error.
 */
export function datasetRoutes(parts: DatasetParts) {
  return [
    route({
      method: 'GET',
      path: '/api/v1/datasets/app-rankings',
      credential: 'either',
      document: appRankingsDocument,
      handle: async ({ query }) => ({
        body: await appRankings(parts, {
          endDay: query.end_date ?? null,
          limit: query.limit ?? 50,
          offset: query.offset ?? 0,
          category: query.category,
          subcategory: query.subcategory,
        }),
      }),
    }),
    route({
      method: 'GET',
      path: '/api/v1/datasets/rankings-daily',
      credential: 'either',
      document: rankingsDailyDocument,
      handle: async ({ query }) => ({ body: await modelRankings(parts, modelQuery(query)) }),
    }),
    route({
      method: 'GET',
      path: '/api/v1/benchmarks',
      credential: 'either',
      document: benchmarksDocument,
      handle: async ({ query }) => ({ body: await benchmarks(parts, query) }),
    }),
  ];
}

function modelQuery(query: z.output<typeof rankingsDailyDocument.query>): ModelQuery {
  const slices = slicesOf(query);
  const ownGrain = isSampled(query) ? 'week' : 'day';
  const [slice] = slices;
  const name = slice === undefined ? 'all' : sliceName(slice.name, slice.value);
  return {
    startDay: query.start_date ?? null,
    endDay: query.end_date ?? null,
    grain: query.period ?? ownGrain,
    // Two filters at once are valid and not synced: they return no data.
    series: slices.length > 1 ? null : { name, grain: ownGrain },
  };
}
