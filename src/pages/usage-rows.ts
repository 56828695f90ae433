import { z } from 'zod';
import { histogramColumns } from '../analytics/facts-sql.ts';
import {
  type Dimension,
  dimensions,
  steps,
  type UsageGroup,
  type UsageQuery,
  usageBy,
  usagePercentiles,
  usageSeries,
  usageTotals,
} from '../analytics/usage-sql.ts';
import { readAppNames } from '../generations/app-names-sql.ts';
import { readKeyNames } from '../keys/key-names-sql.ts';
import type { Database } from '../store/database.ts';
import { type Clock, isoOf } from '../time/clock.ts';
import { integerText } from '../wire/shapes/query.ts';
import { pageRoute } from './page-route.ts';
import { instant } from './shapes.ts';
import {
  type UsageParameters,
  usageQueryOf,
  usageQueryShape,
  usageSumsBody,
  usageSumsShape,
} from './usage-query.ts';

/** What the rows of usage need. */
export interface UsagePageParts {
  readonly reads: Database;
  readonly clock: Clock;
}

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

const groupingShape = {
  by: z.enum(dimensionNames),
  limit: integerText(1, 100).default(10),
  ranking: z.enum(rankingNames).default('cost'),
};
const spanShape = { from: instant, to: instant, as_of: instant };
/** `value` is null for the values beyond the limit. */
const valueShape = {
  value: z.string().nullable().describe('The value of the dimension; a key is its hash; null: all others'),
  label: z.string().nullable().describe('The name of a key or an app'),
};

type Grouping = { readonly by: Dimension; readonly limit: number; readonly ranking: keyof typeof rankings };

/** Which usage a session may see, and how its values are named. */
interface Scope {
  readonly query: UsageQuery;
  named(
    by: Dimension | undefined,
    group: Pick<UsageGroup, 'value'>,
  ): { value: string | null; label: string | null };
}

/**
 * The rows of usage of one area (U1, U2, U4; A1): of the session's account on the dashboard, of all
 * accounts in the console.
 */
export function usagePages<A extends 'dashboard' | 'console'>(area: A, parts: UsagePageParts) {
  const { reads, clock } = parts;
  type Session = { readonly accountId?: number };
  const spanOf = (query: UsageQuery) => ({
    from: isoOf(query.fromMs),
    to: isoOf(query.toMs),
    as_of: isoOf(clock.now()),
  });
  const groupsOf = ({ by, limit, ranking }: Grouping) => ({ by, limit, ranking: rankings[ranking] });
  return [
    pageRoute({
      method: 'GET',
      path: `/${area}/api/usage/totals` as `/${A}/api/${string}`,
      area,
      credential: 'session',
      summary: 'The sums of usage in a span',
      query: z.object(usageQueryShape),
      response: z.strictObject({ ...spanShape, sums: usageSumsShape }),
      handle: async ({ session, query }) => {
        const scope = await scopeOf(parts, session as Session, query);
        return { ...spanOf(scope.query), sums: usageSumsBody(await usageTotals(reads, scope.query)) };
      },
    }),
    pageRoute({
      method: 'GET',
      path: `/${area}/api/usage/groups` as `/${A}/api/${string}`,
      area,
      credential: 'session',
      summary: 'The sums of the first values of a dimension, and of all others',
      query: z.object({ ...usageQueryShape, ...groupingShape }),
      response: z.strictObject({
        ...spanShape,
        items: z.array(z.strictObject({ ...valueShape, sums: usageSumsShape })),
      }),
      handle: async ({ session, query }) => {
        const scope = await scopeOf(parts, session as Session, query);
        const groups = await usageBy(reads, scope.query, groupsOf(query));
        return {
          ...spanOf(scope.query),
          items: groups.map((group) => ({ ...scope.named(query.by, group), sums: usageSumsBody(group) })),
        };
      },
    }),
    pageRoute({
      method: 'GET',
      path: `/${area}/api/usage/series` as `/${A}/api/${string}`,
      area,
      credential: 'session',
      summary:
        'The sums of each hour, day, week or month with usage; in all, or of the first values of a dimension',
      query: z.object({
        ...usageQueryShape,
        ...groupingShape,
        by: groupingShape.by.optional(),
        step: z.enum(steps),
      }),
      response: z.strictObject({
        ...spanShape,
        points: z.array(z.strictObject({ start: instant, ...valueShape, sums: usageSumsShape })),
      }),
      handle: async ({ session, query: { by, ...query } }) => {
        const scope = await scopeOf(parts, session as Session, query);
        const groups = by === undefined ? {} : { groups: groupsOf({ ...query, by }) };
        const points = await usageSeries(reads, scope.query, { step: query.step, ...groups });
        return {
          ...spanOf(scope.query),
          points: points.map((point) => ({
            start: isoOf(point.startMs),
            ...scope.named(by, point),
            sums: usageSumsBody(point),
          })),
        };
      },
    }),
    pageRoute({
      method: 'GET',
      path: `/${area}/api/usage/latency` as `/${A}/api/${string}`,
      area,
      credential: 'session',
      summary: 'Percentiles of the time to the first token, of the duration (ms) or of the speed (tokens/s)',
      query: z.object({
        ...usageQueryShape,
        ...groupingShape,
        by: groupingShape.by.optional(),
        step: z.enum(steps).optional().describe('Absent: of the whole span'),
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
        const scope = await scopeOf(parts, session as Session, query);
        const groups = by === undefined ? {} : { groups: groupsOf({ ...query, by }) };
        const points = await usagePercentiles(reads, scope.query, {
          distribution: of,
          step: step ?? null,
          ...groups,
        });
        return {
          ...spanOf(scope.query),
          points: points.map((point) => ({
            start: isoOf(point.startMs),
            ...scope.named(by, point),
            count: Number(point.count),
            p50: point.p50,
            p95: point.p95,
          })),
        };
      },
    }),
  ];
}

/** A session of the dashboard sees its own account only; keys are named by their hashes there. */
async function scopeOf(
  { reads, clock }: UsagePageParts,
  { accountId }: { readonly accountId?: number },
  parameters: UsageParameters,
): Promise<Scope> {
  const nowMs = clock.now();
  if (accountId === undefined)
    return {
      query: usageQueryOf({ ...parameters, app: undefined }, { accountId: null, nowMs }),
      named: (_by, { value }) => ({ value, label: null }),
    };
  const keys = await readKeyNames(reads, accountId);
  const apps = await readAppNames(reads, accountId);
  const byId = new Map(keys.map((key) => [String(key.id), key]));
  const wanted = parameters.key;
  const keyIds =
    wanted === undefined
      ? undefined
      : keys.flatMap(({ id, hash }) => (wanted.includes(hash) ? [String(id)] : []));
  return {
    query: usageQueryOf(parameters, { accountId, nowMs, ...(keyIds === undefined ? {} : { keyIds }) }),
    named: (by, { value }) => {
      if (value === null) return { value: null, label: null };
      if (by === 'key')
        return { value: byId.get(value)?.hash ?? value, label: byId.get(value)?.name ?? null };
      return { value, label: by === 'app' ? (apps.get(value) ?? null) : null };
    },
  };
}
