import { z } from 'zod';
import { requirements } from '../errors/messages.ts';
import { type Dimension, dimensions, type UsageQuery } from '../generations/analytics/usage-facts-sql.ts';
import type { UsageSums } from '../generations/analytics/usage-sql.ts';
import { parseInstant } from '../time/clock.ts';
import { periodAt } from '../time/period.ts';
import { reading } from '../wire/parse-with.ts';
import { listText } from '../wire/shapes/query.ts';
import { statedQueryShape, tagOf } from './generation-query.ts';
import { micro } from './shapes.ts';

/** The spans that a person chooses from; days and months are Seoul's. */
export const ranges = ['today', '7d', '30d', 'month', 'custom'] as const;

const dayMs = 86_400_000;
/** Longer than any question about a budget, and a bound for the cost of a page. */
const maxSpanMs = 800 * dayMs;

/** An instant of a query, from 1970 to 2999: the days beside it have years of four digits. */
const instantText = reading(
  z.string().meta({ format: 'date-time' }),
  (text) => (/^(?:19|2)/.test(text) ? parseInstant(text) : null),
  requirements.instant,
);

/**
 * The parameters that every question about usage has: the span, and the accepted values of
 * dimensions.
 */
export const usageQueryShape = {
  range: z.enum(ranges).default('30d').describe('`custom` is from `from` to `to`'),
  from: instantText.optional(),
  to: instantText.optional(),
  key: listText().optional().describe('Hashes of keys; on the dashboard only'),
  app: listText().optional().describe('IDs of apps; on the dashboard only'),
  model: listText().optional(),
  provider: listText().optional(),
  status: listText().optional(),
  error: listText().optional(),
  finish: listText().optional(),
  outcome: listText().optional().describe('`ok`, `failed` or `cancelled`, as in the list of requests'),
  ...statedQueryShape,
};
const usageQuery = z.object(usageQueryShape);

/** The parsed parameters. */
export type UsageParameters = z.output<typeof usageQuery>;

/** Sums of usage in a response. Counts are numbers, money is text. */
export const usageSumsShape = z.strictObject({
  requests: z.int(),
  failures: z
    .int()
    .describe('Requests that failed, as in the list of requests: without those that were cancelled'),
  cost_micro: micro,
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  reasoning_tokens: z.int(),
  cached_tokens: z.int(),
});

/** Half-open, in epoch milliseconds. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * The span of a range that contains the present, up to its end; a custom one is at most 800 days.
 */
export function spanOf(
  { range, from, to }: Pick<UsageParameters, 'range' | 'from' | 'to'>,
  nowMs: number,
): Span {
  const today = periodAt('daily', nowMs);
  switch (range) {
    case 'today':
      return { fromMs: today.startMs, toMs: today.endMs };
    case '7d':
      return { fromMs: today.startMs - 6 * dayMs, toMs: today.endMs };
    case '30d':
      return { fromMs: today.startMs - 29 * dayMs, toMs: today.endMs };
    case 'month': {
      const { startMs, endMs } = periodAt('monthly', nowMs);
      return { fromMs: startMs, toMs: endMs };
    }
    case 'custom': {
      const toMs = to ?? today.endMs;
      return { fromMs: Math.max(from ?? toMs - 30 * dayMs, toMs - maxSpanMs), toMs };
    }
  }
}

/** Which usage the parameters select; `keyIds` are those of the hashes in `key`. */
export function usageQueryOf(
  parameters: UsageParameters,
  of: { readonly accountId: number | null; readonly nowMs: number; readonly keyIds?: readonly string[] },
): UsageQuery {
  const { user, tag } = parameters;
  const value = tagOf(parameters)?.value;
  const stated = {
    ...parameters,
    key: of.keyIds,
    user: user === undefined ? user : [user],
    tag: value === undefined ? value : [value],
  };
  const only = Object.fromEntries(
    (Object.keys(dimensions) as Dimension[]).flatMap((dimension) => {
      const values = stated[dimension];
      return values === undefined || (values.length === 0 && dimension !== 'key')
        ? []
        : [[dimension, values]];
    }),
  );
  return { accountId: of.accountId, ...spanOf(parameters, of.nowMs), only, tag };
}

/** The sums in a response. */
export function usageSumsBody(sums: UsageSums): z.input<typeof usageSumsShape> {
  return {
    requests: Number(sums.requests),
    failures: Number(sums.failures),
    cost_micro: String(sums.cost),
    prompt_tokens: Number(sums.promptTokens),
    completion_tokens: Number(sums.completionTokens),
    reasoning_tokens: Number(sums.reasoningTokens),
    cached_tokens: Number(sums.cachedTokens),
  };
}
