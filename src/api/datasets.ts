import { appRankings, type DatasetParts } from '../datasets/app-rankings.ts';
import {
  arenas,
  type BenchmarkQuery,
  benchmarkSources,
  benchmarks,
  benchmarkTypes,
  searchSurfaces,
  taskTypes,
} from '../datasets/benchmarks.ts';
import { grains, type ModelQuery, modelRankings } from '../datasets/model-rankings.ts';
import { contextBuckets, languageTypes, modalities, sliceName, useCases } from '../datasets/series.ts';
import { refuse } from '../errors/catalogue.ts';
import { messages, requirements } from '../errors/messages.ts';
import { choiceOf, countOf, dayOf } from './datasets-query.ts';
import { appRankingsDocument, benchmarksDocument, rankingsDailyDocument } from './documents/datasets.ts';
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
          endDay: dayOf(query, 'end_date'),
          limit: countOf(query, 'limit', 1, 100) ?? 50,
          offset: countOf(query, 'offset', 0) ?? 0,
          category: query.get('category'),
          subcategory: query.get('subcategory'),
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
      handle: async ({ query }) => ({ body: await benchmarks(parts, benchmarkQuery(query)) }),
    }),
  ];
}

function modelQuery(query: URLSearchParams): ModelQuery {
  const filters = {
    modality: choiceOf(query, 'modality', modalities),
    context_bucket: choiceOf(query, 'context_bucket', contextBuckets),
    category: choiceOf(query, 'category', useCases),
    language_type: choiceOf(query, 'language_type', languageTypes),
  };
  const grain = choiceOf(query, 'period', grains);
  const slices = Object.entries(filters).flatMap(([name, value]) =>
    value === null ? [] : [{ name, value }],
  );
  const isSampled = filters.category !== null || filters.language_type !== null;
  if (isSampled && slices.length > 1) throw refuse('invalid_request', messages.exclusiveFilters());
  if (isSampled && grain === 'day')
    throw refuse('invalid_request', messages.invalidValue('period', requirements.sampledPeriod));
  const ownGrain = isSampled ? 'week' : 'day';
  const [slice] = slices;
  const name = slice === undefined ? 'all' : sliceName(slice.name, slice.value);
  return {
    startDay: dayOf(query, 'start_date'),
    endDay: dayOf(query, 'end_date'),
    grain: grain ?? ownGrain,
    // Two filters at once are valid and not synced: they return no data.
    series: slices.length > 1 ? null : { name, grain: ownGrain },
  };
}

function benchmarkQuery(query: URLSearchParams): BenchmarkQuery {
  return {
    source: choiceOf(query, 'source', benchmarkSources),
    taskType: choiceOf(query, 'task_type', taskTypes),
    benchmarkType: choiceOf(query, 'benchmark_type', benchmarkTypes),
    includeRunConfig: choiceOf(query, 'include_run_config', ['true', 'false']) === 'true',
    searchEngine: query.get('search_engine'),
    searchSurface: choiceOf(query, 'search_surface', searchSurfaces),
    arena: choiceOf(query, 'arena', arenas),
    category: query.get('category'),
    maxResults: countOf(query, 'max_results', 1),
  };
}
