import { z } from 'zod';
import { count, instant } from './common.ts';

const day = z.iso.date();
const text = z.string().nullable();
const source = z.enum(['upstream', 'fixture']).describe('fixture: invented sample rows');
const tokens = z
  .string()
  .regex(/^\d{1,30}$/)
  .describe('An integer of up to 30 digits as a string');

const attribution = {
  citation: text.optional(),
  source_url: text.optional(),
  license: text.optional(),
  license_url: text.optional(),
};
const period = { as_of: instant.nullable(), start_date: day.nullable(), end_date: day.nullable() };

/** `GET /datasets/app-rankings` (spec:api/18). */
export const appRankingsShape = z.strictObject({
  data: z.array(
    z.strictObject({
      app_id: z.int(),
      app_name: z.string(),
      rank: z.int().min(1).nullable(),
      total_requests: count.nullable(),
      total_tokens: tokens.nullable(),
      url: text,
      description: text,
      category: text,
      subcategory: text,
      growth_pct: z.number().nullable().describe('Null when the source has none'),
      period_start: day.nullable(),
      period_end: day.nullable(),
      source,
      synced_at: instant,
    }),
  ),
  meta: z.strictObject({
    ...period,
    limit: z.int(),
    offset: z.int(),
    version: z.literal('v1'),
    ...attribution,
  }),
});

/** `GET /datasets/rankings-daily`. */
export const rankingsDailyShape = z.strictObject({
  data: z.array(z.strictObject({ date: day, model_permaslug: z.string(), total_tokens: tokens, source })),
  meta: z.strictObject({ ...period, version: z.literal('v1'), ...attribution }),
});

/** `GET /benchmarks`: the items differ by `source`. */
export const benchmarksShape = z.strictObject({
  data: z.array(z.looseObject({ source: z.string(), model_permaslug: z.string(), display_name: z.string() })),
  meta: z.strictObject({
    as_of: instant.nullable(),
    version: z.literal('v1'),
    source: text,
    model_count: count,
    task_type: text,
    citations: z.array(z.string()),
    ...attribution,
  }),
});
