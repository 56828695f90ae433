import { z } from 'zod';
import { refuse } from '../errors/catalogue.ts';
import { messages, requirements } from '../errors/messages.ts';
import { histogramColumns } from '../generations/analytics/facts-sql.ts';
import { type Dimension, dimensions, type UsageQuery } from '../generations/analytics/usage-facts-sql.ts';
import {
  type Step,
  steps,
  usageBy,
  usagePercentiles,
  usageSeries,
  usageTotals,
  usedTags,
} from '../generations/analytics/usage-sql.ts';
import { type Clock, isoOf } from '../time/clock.ts';
import { integerText } from '../wire/shapes/query.ts';
import type { PageContext } from './context.ts';
import { pageRoute } from './page-route.ts';
import type { Area } from './page-session.ts';
import { instant } from './shapes.ts';
import { usageQueryShape, usageSumsBody, usageSumsShape } from './usage-query.ts';
import { usageScopeOf } from './usage-scope.ts';

const dimensionNames = Object.keys(dimensions) as [Dimension, ...Dimension[]];
/** What groups are ranked by, as the query names it. */
const rankings = {
  cost: 'cost',
  requests: 'requests',
  failures: 'failures',
  prompt_tokens: 'promptTokens',
  completion_tokens: 'completionTokens',
  reasoning_tokens: 'reasoningTokens',
  cached_tokens: 'cachedTokens',
} as const;
const rankingNames = Object.keys(rankings) as [keyof typeof rankings, ...(keyof typeof rankings)[]];

/** Users and tags are those of an account: of all accounts together, nobody could name them. */
function groupingShape(area: Area) {
  const names =
    area === 'console' ? dimensionNames.filter((name) => name !== 'user' && name !== 'tag') : dimensionNames;
  return {
    by: z.enum(names as typeof dimensionNames),
    limit: integerText(1, 100).default(10),
    ranking: z.enum(rankingNames).default('cost'),
  };
}
const spanShape = { from: instant, to: instant, as_of: instant };
/** `value` is null for the values beyond the limit. */
const valueShape = {
  value: z.string().nullable().describe('The value of the dimension (for a key, its hash); null: all others'),
  label: z.string().nullable().describe('The name of a key or an app'),
};

/** A chart of more hours cannot be read, and would merge the histograms of all of them. */
const maxSpanOfHoursMs = 8 * 86_400_000;

type Grouping = {
  readonly by: Dimension;
  readonly limit: number;
  readonly ranking: keyof typeof rankings;
  readonly tag?: string | undefined;
};

/**
 * The rows of usage of one area (U1, U2, U4; A1): of the session's account on the dashboard, of all
 * accounts in the console.
 */
export function usagePages(area: Area, parts: PageContext) {
  return [
    totalsPage(area, parts),
    groupsPage(area, parts),
    seriesPage(area, parts),
    latencyPage(area, parts),
  ];
}

/** The tags of an account, for the dimension `tag`. */
export function usedTagPages(parts: PageContext) {
  return [
    pageRoute({
      method: 'GET',
      path: '/dashboard/api/usage/tags',
      summary: 'The members of `metadata` that the requests of a span had, the most used first',
      query: z.object({ range: usageQueryShape.range, from: usageQueryShape.from, to: usageQueryShape.to }),
      response: z.strictObject({ items: z.array(z.strictObject({ name: z.string(), requests: z.int() })) }),
      handle: async ({ session, query }) => {
        const scope = await usageScopeOf(parts, session, query);
        const items = await usedTags(parts.reads, scope.query);
        return { items: items.map(({ name, requests }) => ({ name, requests: Number(requests) })) };
      },
    }),
  ];
}

function totalsPage(area: Area, parts: PageContext) {
  return pageRoute({
    method: 'GET',
    path: `/${area}/api/usage/totals`,
    summary: 'The usage totals of a span',
    query: z.object(usageQueryShape),
    response: z.strictObject({ ...spanShape, sums: usageSumsShape }),
    handle: async ({ session, query }) => {
      const scope = await usageScopeOf(parts, session, query);
      return {
        ...spanOf(scope.query, parts.clock),
        sums: usageSumsBody(await usageTotals(parts.reads, scope.query)),
      };
    },
  });
}

function groupsPage(area: Area, parts: PageContext) {
  return pageRoute({
    method: 'GET',
    path: `/${area}/api/usage/groups`,
    summary: 'The usage totals of the top values of a dimension, and of all others',
    query: z.object({ ...usageQueryShape, ...groupingShape(area) }),
    response: z.strictObject({
      ...spanShape,
      items: z.array(z.strictObject({ ...valueShape, sums: usageSumsShape })),
    }),
    handle: async ({ session, query }) => {
      const scope = await usageScopeOf(parts, session, query);
      const groups = await usageBy(parts.reads, scope.query, groupsOf(query));
      return {
        ...spanOf(scope.query, parts.clock),
        items: groups.map((group) => ({ ...scope.named(query.by, group), sums: usageSumsBody(group) })),
      };
    },
  });
}

function seriesPage(area: Area, parts: PageContext) {
  return pageRoute({
    method: 'GET',
    path: `/${area}/api/usage/series`,
    summary:
      'The sums of each hour, day, week or month with usage; in all, or of the first values of a dimension',
    query: z.object({
      ...usageQueryShape,
      ...groupingShape(area),
      by: groupingShape(area).by.optional(),
      step: z.enum(steps),
    }),
    response: z.strictObject({
      ...spanShape,
      points: z.array(z.strictObject({ start: instant, ...valueShape, sums: usageSumsShape })),
    }),
    handle: async ({ session, query: { by, ...query } }) => {
      const scope = await usageScopeOf(parts, session, query);
      refuseLongHours(query.step, scope.query);
      const groups = by === undefined ? {} : { groups: groupsOf({ ...query, by }) };
      const points = await usageSeries(parts.reads, scope.query, { step: query.step, ...groups });
      return {
        ...spanOf(scope.query, parts.clock),
        points: points.map((point) => ({
          start: isoOf(point.startMs),
          ...scope.named(by, point),
          sums: usageSumsBody(point),
        })),
      };
    },
  });
}

function latencyPage(area: Area, parts: PageContext) {
  return pageRoute({
    method: 'GET',
    path: `/${area}/api/usage/latency`,
    summary: 'Percentiles of the time to the first token, of the duration (ms) or of the speed (tokens/s)',
    query: z.object({
      ...usageQueryShape,
      ...groupingShape(area),
      by: groupingShape(area).by.optional(),
      step: z.enum(steps).optional().describe('Absent: one value for the whole span'),
      of: z.enum(histogramColumns),
    }),
    response: z.strictObject({
      ...spanShape,
      points: z.array(
        z.strictObject({
          start: instant,
          ...valueShape,
          count: z.int(),
          p50: z.number(),
          p95: z.number(),
        }),
      ),
    }),
    handle: async ({ session, query: { by, of, step, ...query } }) => {
      const scope = await usageScopeOf(parts, session, query);
      refuseLongHours(step, scope.query);
      const groups = by === undefined ? {} : { groups: groupsOf({ ...query, by }) };
      const points = await usagePercentiles(parts.reads, scope.query, {
        distribution: of,
        step: step ?? null,
        ...groups,
      });
      return {
        ...spanOf(scope.query, parts.clock),
        points: points.map((point) => ({
          start: isoOf(point.startMs),
          ...scope.named(by, point),
          count: Number(point.count),
          p50: point.p50,
          p95: point.p95,
        })),
      };
    },
  });
}

function refuseLongHours(step: Step | undefined, { fromMs, toMs }: UsageQuery): void {
  if (step === 'hour' && toMs - fromMs > maxSpanOfHoursMs)
    throw refuse('invalid_request', messages.invalidValue('step', requirements.stepOfLongSpan));
}

function spanOf(query: UsageQuery, clock: Clock) {
  return { from: isoOf(query.fromMs), to: isoOf(query.toMs), as_of: isoOf(clock.now()) };
}

function groupsOf({ by, limit, ranking, tag }: Grouping) {
  if (by === 'tag' && tag === undefined) throw refuse('invalid_request', messages.missing('tag'));
  return { by, limit, ranking: rankings[ranking] };
}
