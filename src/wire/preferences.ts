import { z } from 'zod';
import { refuse } from '../errors/catalogue.ts';
import { requirements } from '../errors/messages.ts';
import { decimalToScaled } from '../money/krw.ts';
import { type Rate, rateOfPico } from '../money/price.ts';
import { maxima } from './maxima.ts';
import { must, parseWith, reading } from './parse-with.ts';

/** A request's preferences for its candidates (`provider` of OpenRouter), parsed and checked. */
export interface Preferences {
  /** Providers to try first, in this order; null when not set. */
  readonly order: Names | null;
  readonly only: Names | null;
  readonly ignore: Names;
  /** False: only the first candidate is tried, or those of `order`. */
  readonly allowFallbacks: boolean;
  /** True: every parameter that was sent must be supported. */
  readonly requireParameters: boolean;
  readonly sort: Sort | null;
  /** True: the candidates of all models are sorted as one; false: the models keep their order. */
  readonly sortAcrossModels: boolean;
  /** The maximum price of tokens; null when not set. */
  readonly maxPrice: MaxPrice | null;
  /** The preferred minimum of tokens per second; candidates below it are tried later. */
  readonly preferredMinThroughput: Cutoffs | null;
  /**
   * The preferred maximum of milliseconds to the first token; candidates above it are tried later.
   */
  readonly preferredMaxLatency: Cutoffs | null;
  readonly quantizations: ReadonlySet<string> | null;
  /** Only providers that neither store prompts nor train on them. */
  readonly denyDataCollection: boolean;
  /** Only providers with zero data retention. */
  readonly zdr: boolean;
  /** Only candidates whose text may be used to train other models. */
  readonly distillable: boolean;
}

/** How the weights of a candidate may be quantized. */
export const quantizations = [
  'int4',
  'int8',
  'fp4',
  'mxfp4',
  'nvfp4',
  'fp6',
  'fp8',
  'mxfp8',
  'fp16',
  'bf16',
  'fp32',
  'unknown',
] as const;

/** Names of providers in lower case, each with its place in the list of the request. */
export type Names = ReadonlyMap<string, number>;

/** What candidates are sorted by. */
export type Sort = 'price' | 'throughput' | 'latency';

/** Bounds of a price, as rates per token and per request; null where not set. */
export interface MaxPrice {
  readonly prompt: Rate | null;
  readonly completion: Rate | null;
  readonly request: Rate | null;
}

/** A bound for each named percentile, all of which must be met. */
export type Cutoffs = Partial<Readonly<Record<'p50' | 'p75' | 'p90' | 'p99', number>>>;

const name = z.string().max(maxima.name);
const flag = z.boolean().nullable().optional();
/** A won per million tokens is 10^6 pico-won per token; a won per request is 10^12 pico-won. */
const perMillionTokens = 6;
const perUnit = 12;

const names = z.array(name).max(maxima.providers).nullable().optional();
const bound = z.number().min(0, { error: must(requirements.cutoffs) });
const optionalBound = bound.nullable().optional();
const bounds = z
  .union(
    [
      bound,
      z.strictObject({ p50: optionalBound, p75: optionalBound, p90: optionalBound, p99: optionalBound }),
    ],
    {
      error: must(requirements.cutoffs),
    },
  )
  .nullable()
  .optional();
const sort = z.enum(['price', 'throughput', 'latency', 'exacto']);

/** Won as a number, or as a decimal text, read as a rate. */
function wonAmount(decimals: number) {
  const error = must(requirements.wonAmount);
  const shape = z.union(
    [
      z.number().min(0, { error }),
      name.regex(/^\s*\+?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,2})?\s*$/, { error }),
    ],
    { error },
  );
  return reading(
    shape,
    (won) => {
      const pico = decimalToScaled(String(won).trim(), decimals);
      return pico === null ? null : rateOfPico(pico);
    },
    requirements.wonAmount,
  )
    .nullable()
    .optional();
}

/** The member `provider`: preferences for candidates. No other member is accepted (spec:compat/5). */
export const preferencesShape = z
  .strictObject({
    order: names.describe('Providers to try first'),
    only: names,
    ignore: names,
    quantizations: z.array(z.enum(quantizations)).max(maxima.providers).nullable().optional(),
    allow_fallbacks: flag,
    require_parameters: flag,
    zdr: flag.describe('true: only candidates with no data retention'),
    enforce_distillable_text: flag.describe('true: only candidates whose text may be used for distillation'),
    data_collection: z
      .enum(['allow', 'deny', 'disallow'])
      .nullable()
      .optional()
      .describe('`deny` or `disallow`: only candidates that do not collect data'),
    sort: z
      .union(
        [
          sort,
          z.strictObject({
            by: sort.nullable().optional(),
            partition: z.enum(['model', 'none']).nullable().optional(),
          }),
        ],
        { error: must(requirements.sort) },
      )
      .nullable()
      .optional()
      .describe('`exacto` leaves the order as it is'),
    max_price: z
      .strictObject({
        prompt: wonAmount(perMillionTokens),
        completion: wonAmount(perMillionTokens),
        request: wonAmount(perUnit),
        image: wonAmount(perUnit),
        audio: wonAmount(perUnit),
      })
      .nullable()
      .optional()
      .describe('Won per million tokens; `request` in won'),
    preferred_min_throughput: bounds.describe('Tokens per second, also by percentile'),
    preferred_max_latency: bounds.describe('Seconds to the first token, also by percentile'),
  })
  .describe('Routing preferences');

/** Its faults have the path of the member in the body. */
const bodyShape = z.object({ provider: preferencesShape.nullable().optional() });
type Stated = z.output<typeof preferencesShape>;

/**
 * Parses the member `provider`; refuses malformed and unknown members with `400 invalid_request`
 * (spec:compat/5). `route` is OpenRouter's former name for the partition of a sort.
 */
export function readPreferences(provider: unknown, route: unknown = null): Preferences {
  return provider == null && route == null ? noPreferences : preferencesOf(provider, route);
}

function preferencesOf(provider: unknown, route: unknown): Preferences {
  const parsed = parseWith(bodyShape, { provider });
  if (!parsed.ok) throw refuse('invalid_request', parsed.fault.message);
  const stated: Stated = parsed.value.provider ?? {};
  const sort = typeof stated.sort === 'string' ? { by: stated.sort } : (stated.sort ?? {});
  return {
    order: namesOf(stated.order),
    only: namesOf(stated.only),
    ignore: namesOf(stated.ignore) ?? new Map(),
    allowFallbacks: stated.allow_fallbacks ?? true,
    requireParameters: stated.require_parameters ?? false,
    // There is no measure of what OpenRouter calls `exacto`: the order stays as it is.
    sort: sort.by == null || sort.by === 'exacto' ? null : sort.by,
    sortAcrossModels: (sort.partition ?? (route === 'sort' ? 'none' : 'model')) === 'none',
    maxPrice: maxPriceOf(stated.max_price),
    preferredMinThroughput: cutoffsOf(stated.preferred_min_throughput, 1),
    preferredMaxLatency: cutoffsOf(stated.preferred_max_latency, 1_000),
    quantizations: stated.quantizations == null ? null : new Set(stated.quantizations),
    denyDataCollection: stated.data_collection === 'deny' || stated.data_collection === 'disallow',
    zdr: stated.zdr ?? false,
    distillable: stated.enforce_distillable_text ?? false,
  };
}

/** Those of a request that states none: nearly every one. */
const noPreferences = preferencesOf(null, null);

/** Names in lower case, each with its place; null when none are stated. */
export function namesOf(stated: readonly string[] | null | undefined): Names | null {
  if (stated == null) return null;
  const places = new Map<string, number>();
  for (const name of new Set(stated.map((each) => each.toLowerCase()))) places.set(name, places.size);
  return places;
}

/** No candidate has a price for images or audio, so all candidates meet those bounds. */
function maxPriceOf(stated: Stated['max_price']): Preferences['maxPrice'] {
  if (stated == null) return null;
  const { prompt = null, completion = null, request = null } = stated;
  return { prompt, completion, request };
}

/** A number is a bound of the median. `unit` converts one of the client's units to ours. */
function cutoffsOf(stated: Stated['preferred_max_latency'], unit: number): Cutoffs | null {
  const bounds = typeof stated === 'number' ? { p50: stated } : (stated ?? {});
  const cutoffs = Object.entries(bounds).flatMap(([percentile, bound]) =>
    bound == null ? [] : [[percentile, bound * unit] as const],
  );
  return cutoffs.length === 0 ? null : Object.fromEntries(cutoffs);
}
