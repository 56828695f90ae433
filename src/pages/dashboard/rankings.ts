import { z } from 'zod';
import { appChoices, appRankings } from '../../datasets/app-rankings.ts';
import { type Day, lastCompletedDay, parseDay } from '../../datasets/days.ts';
import { grains, modelRankings } from '../../datasets/model-rankings.ts';
import { allSeries } from '../../datasets/series.ts';
import { requirements } from '../../errors/messages.ts';
import { isoDay } from '../../time/period.ts';
import { reading } from '../../wire/parse-with.ts';
import { appRankingsShape, rankingsDailyShape } from '../../wire/shapes/datasets.ts';
import type { DashboardContext } from '../context.ts';
import { pageRoute } from '../page-route.ts';
import { rankedByModel } from './ranked-by-model.ts';

const day = reading(z.string().meta({ format: 'date' }), parseDay, requirements.date);
const name = z.string().min(1).max(100).optional();
/** The apps of one response: the maximum of the public dataset. */
const maxApps = 100;
const ranges = { '30d': 30, '90d': 90, '1y': 365 } as const;
const rangeNames = Object.keys(ranges) as [keyof typeof ranges, ...(keyof typeof ranges)[]];

const appsShape = appRankingsShape.extend({
  periods: z
    .array(z.strictObject({ start: z.iso.date(), end: z.iso.date() }))
    .describe('The available periods, the latest first'),
  categories: z
    .array(z.strictObject({ name: z.string(), subcategories: z.array(z.string()) }))
    .describe('The categories of the period'),
});

const tokens = z
  .string()
  .regex(/^\d{1,40}$/)
  .describe('The number of tokens as a string');
const modelTokens = {
  total_tokens: tokens,
  tokens: z.array(tokens.nullable()).describe('The points of the series, by date'),
};
const modelsShape = z.strictObject({
  dates: z.array(z.iso.date()),
  models: z
    .array(z.strictObject({ model: z.string(), ...modelTokens }))
    .describe('The top 20 models of the span, by tokens'),
  other: z.strictObject(modelTokens).describe('All other models'),
  is_sample: z.boolean(),
  meta: rankingsDailyShape.shape.meta,
});

/**
 * The rankings of apps and models (U10): public, and nothing but what the datasets of the API
 * return.
 */
export function rankingPages(parts: DashboardContext) {
  return [
    pageRoute({
      method: 'GET',
      path: '/dashboard/api/rankings/apps',
      credential: 'none',
      summary:
        'The apps of one period by tokens, and the available filters; as /api/v1/datasets/app-rankings',
      query: z.object({
        end: day.optional().describe('The latest period that ends on or before this day'),
        category: name,
        subcategory: name,
      }),
      response: appsShape,
      handle: async ({ query: { end = null, category, subcategory } }) => {
        const { data, ...rest } = await appsUntil(parts, end);
        const wanted = data.filter(
          (row) =>
            (category === undefined || row.category === category) &&
            (subcategory === undefined || row.subcategory === subcategory),
        );
        return { ...rest, data: wanted.slice(0, maxApps) };
      },
    }),
    pageRoute({
      method: 'GET',
      path: '/dashboard/api/rankings/models',
      credential: 'none',
      summary: 'Tokens by date and model; as /api/v1/datasets/rankings-daily',
      query: z.object({
        series: z
          .enum(allSeries.map((one) => one.name))
          .default('all')
          .describe('All traffic or a slice of it; some slices have no daily data'),
        period: z.enum(grains).default('day'),
        range: z.enum(rangeNames).default('30d'),
      }),
      response: modelsShape,
      handle: ({ query: { series, period, range } }) => modelsOf(parts, series, period, range),
    }),
  ];
}

/** A whole period, read once for all that end with it. */
async function appsUntil({ datasets, publicReads }: DashboardContext, end: Day | null) {
  const { periods } = await publicReads.once(['app periods'], () => appChoices(datasets, null));
  const known = end === null ? periods[0] : periods.find(({ endDay }) => endDay <= end);
  // Before the first period there is none: the day before every dataset.
  const endDay = known?.endDay ?? 0;
  return publicReads.once(['apps', endDay], async () => {
    const all = { endDay, limit: Number.MAX_SAFE_INTEGER, offset: 0 };
    const ranking = (await appRankings(datasets, all)) as z.input<typeof appRankingsShape>;
    const { categories } = await appChoices(datasets, endDay);
    return {
      ...ranking,
      meta: { ...ranking.meta, limit: maxApps },
      periods: periods.map((one) => ({ start: isoDay(one.startDay), end: isoDay(one.endDay) })),
      categories: categories.map((one) => ({ ...one, subcategories: [...one.subcategories] })),
    };
  });
}

function modelsOf(
  { datasets, publicReads }: DashboardContext,
  series: string,
  period: (typeof grains)[number],
  range: keyof typeof ranges,
): Promise<z.input<typeof modelsShape>> {
  return publicReads.once(['models', series, period, range], async () => {
    const { grain: ownGrain } = allSeries.find((one) => one.name === series) ?? { grain: 'day' };
    const endDay = lastCompletedDay(datasets.clock.now());
    const ranking = await modelRankings(datasets, {
      startDay: endDay - ranges[range] + 1,
      endDay,
      grain: period === 'day' ? ownGrain : period,
      series: { name: series, grain: ownGrain },
    });
    const { data, meta } = ranking as z.input<typeof rankingsDailyShape>;
    return { ...rankedByModel(data), is_sample: data.some(({ source }) => source === 'fixture'), meta };
  });
}
