import { z } from 'zod';
import { parseInstant } from '../time/clock.ts';
import type { AppRow } from './apps-sql.ts';
import { parseDay } from './days.ts';
import type { ModelRow } from './models-sql.ts';
import { SourceFault } from './source.ts';

/** The maximum number of rows in a page of the source. */
export const pageRows = 100;

/** The metadata beside the rows of the source. */
export interface SourceMeta {
  /** Null when the source does not state it. */
  readonly asOfMs: number | null;
  readonly startDay: number;
  readonly endDay: number;
}

/** A page of the source's app ranking. */
export interface AppPage extends SourceMeta {
  readonly rows: readonly AppRow[];
}

/** A window of the source's model ranking. */
export interface ModelPage extends SourceMeta {
  readonly rows: readonly ModelRow[];
}

const maxTokens = 10n ** 30n - 1n;
/** Text that the database can store: no NUL, no half of a surrogate pair. */
const text = z.string().transform((value) => value.replaceAll('\0', '').toWellFormed());
const count = z.int().min(0);
/** An integer of up to 30 digits, as a string or a number, exact to the last digit. */
const tokens = z.union([
  z.string().regex(/^(0|[1-9]\d{0,29})$/),
  count.transform(String),
  z.bigint().min(0n).max(maxTokens).transform(String),
]);
const day = z.string().transform((value, context) => parsed(parseDay(value), context, 'not a day'));
const instant = z
  .string()
  .transform((value, context) => parsed(parseInstant(value), context, 'not an instant'));

/** The instant of the data, where the source states it. */
export const asOf = instant.nullish().transform((value) => value ?? null);

const meta = z.object({ as_of: asOf, start_date: day, end_date: day });
const strings = z.array(text).nullish();

const appRow = z
  .object({
    rank: z.int().min(1),
    app_id: z.int(),
    app_name: text,
    total_tokens: tokens.nullish(),
    total_requests: count.nullish(),
    origin_url: text.nullish(),
    main_url: text.nullish(),
    description: text.nullish(),
    categories: strings,
    category: strings,
    growth_pct: z.number().nullish(),
  })
  .transform((row): AppRow => {
    const categories = row.categories ?? row.category ?? [];
    return {
      rank: row.rank,
      appId: row.app_id,
      appName: row.app_name,
      totalTokens: row.total_tokens ?? null,
      totalRequests: row.total_requests ?? null,
      // The origin address if present, else the main one (spec:api/18.11).
      url: row.origin_url || row.main_url || null,
      description: row.description ?? null,
      category: categories[0] ?? null,
      subcategory: categories[1] ?? null,
      growthPct: row.growth_pct ?? null,
    };
  });

const appPage = z.object({ data: z.array(appRow).max(pageRows), meta });

const modelRow = z
  .object({ date: day, model_permaslug: text.pipe(z.string().min(1)), total_tokens: tokens })
  .transform(
    (row): ModelRow => ({
      day: row.date,
      model: row.model_permaslug,
      totalTokens: BigInt(row.total_tokens),
    }),
  );

const modelPage = z.object({ data: z.array(modelRow), meta });

/**
 * Parses a page of `/datasets/app-rankings` (spec:compat/11). Throws a `SourceFault` for anything
 * else.
 */
export function appPageOf(json: unknown): AppPage {
  const { data, meta: stated } = read(appPage, json);
  if (stated.start_date > stated.end_date)
    throw new SourceFault('unreadable', 'the period ends before it starts');
  return { rows: data, asOfMs: stated.as_of, startDay: stated.start_date, endDay: stated.end_date };
}

/**
 * Parses a window of `/datasets/rankings-daily` (spec:compat/11). Throws a `SourceFault` for
 * anything else.
 */
export function modelPageOf(json: unknown): ModelPage {
  const { data, meta: stated } = read(modelPage, json);
  if (new Set(data.map((row) => `${row.day} ${row.model}`)).size < data.length)
    throw new SourceFault('unreadable', 'a model has two rows on one day');
  return { rows: data, asOfMs: stated.as_of, startDay: stated.start_date, endDay: stated.end_date };
}

/** Parses a response with a schema. Throws a `SourceFault` that names the first wrong member. */
export function read<T>(schema: z.ZodType<T>, json: unknown): T {
  const result = schema.safeParse(json);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new SourceFault('unreadable', `the response is invalid at ${issue?.path.join('.') || 'its root'}`);
}

function parsed(value: number | null, context: z.RefinementCtx, message: string): number {
  if (value !== null) return value;
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
}
