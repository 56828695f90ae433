import { z } from 'zod';
import type { Config } from '../config/config.ts';
import { HttpError, HttpStatusError } from '../http/client/http-error.ts';
import { requestText } from '../http/client/request.ts';
import { retryAfterOf } from '../http/client/retry-after.ts';
import type { Database } from '../store/database.ts';
import { type Clock, parseInstant, pause } from '../time/clock.ts';
import { instantOf, parseDay, utcDayAt } from './days.ts';
import { countRequest } from './sync-sql.ts';

/**
 * The pace of requests to the source. It publishes 30 requests a minute and 500 a day for a key
 * (spec:compat/11.4).
 */
export interface SourcePace {
  /** Time between two requests, milliseconds. */
  readonly spacingMs: number;
  readonly requestsPerDay: number;
  /** From a request to the last byte of its response, milliseconds. */
  readonly wholeMs: number;
}

/** 28 requests a minute and 450 a day leave a margin for other users of the key. */
export const defaultPace: SourcePace = { spacingMs: 2_100, requestsPerDay: 450, wholeMs: 60_000 };

const connectMs = 10_000;
/** A window of 92 days has about 500 KB. */
const maxBytes = 32 * 1024 * 1024;

/** A failed request, or a response without the published shape. */
export class SourceFault extends Error {
  override readonly name = 'SourceFault';
  /** How long after it a retry makes sense, milliseconds; null when that is unknown. */
  readonly retryAfterMs: number | null;

  constructor(message: string, retryAfterMs: number | null = null) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

/** What `SourceReader` needs. */
export interface ReaderParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly pace: SourcePace;
  readonly baseUrl: string;
  readonly key: NonNullable<Config['datasets']['syncKey']>;
  /** Aborts when the gateway closes. */
  readonly signal: AbortSignal;
}

/** Reads from the source: paced and counted over all processes, and checked. */
export class SourceReader {
  readonly #parts: ReaderParts;

  constructor(parts: ReaderParts) {
    this.#parts = parts;
  }

  /**
   * Requests a path and checks the response. Throws `SourceFault`, or the reason for which the sync
   * was stopped.
   */
  async read<T>(path: string, query: Readonly<Record<string, string>>, shape: z.ZodType<T>): Promise<T> {
    const { clock, pace, baseUrl, key, signal } = this.#parts;
    await this.#turn();
    try {
      const text = await requestText(`${baseUrl}${path}?${new URLSearchParams(query)}`, {
        clock,
        headers: {
          authorization: `Bearer ${key.reveal()}`,
          accept: 'application/json',
          'user-agent': 'naru',
        },
        timeoutMs: pace.wholeMs,
        connectTimeoutMs: connectMs,
        maxBytes,
        signal,
      });
      return shape.parse(JSON.parse(text, exactly));
    } catch (error) {
      signal.throwIfAborted();
      throw faultOf(error, path, clock);
    }
  }

  /** Counts a request and waits until it is allowed. */
  async #turn(): Promise<void> {
    const { clock, pace, signal, database } = this.#parts;
    const nowMs = clock.now();
    const atMs = await database.transaction((sql) => countRequest(sql, pace, nowMs));
    if (atMs === null)
      throw new SourceFault(
        `the ${pace.requestsPerDay} requests of today are used up`,
        instantOf(utcDayAt(nowMs) + 1) - nowMs,
      );
    await pause(clock, Math.max(0, atMs - nowMs), signal);
  }
}

/** Messages never quote a body, which may contain the key. */
function faultOf(error: unknown, path: string, clock: Clock): SourceFault {
  if (error instanceof HttpStatusError) {
    const { status, headers } = error;
    const message = `${path}: the source responded with ${status}${status === 401 ? ': it rejects the sync key' : ''}`;
    return new SourceFault(message, retryAfterOf(headers, clock.now()));
  }
  if (error instanceof z.ZodError) {
    const [issue] = error.issues;
    const where = issue?.path.join('.') || 'its root';
    return new SourceFault(`${path}: the response is invalid at ${where}: ${issue?.message}`);
  }
  if (error instanceof SyntaxError) return new SourceFault(`${path}: the response is not JSON`);
  if (error instanceof HttpError) return new SourceFault(`${path}: ${error.message}`);
  return new SourceFault(`${path}: ${error instanceof Error ? `${error.name}: ${error.message}` : error}`);
}

/** Keeps every digit: an integer beyond a JavaScript number becomes a `bigint`. */
function exactly(_name: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  const source = context?.source ?? '';
  return /^-?\d{1,400}$/.test(source) ? BigInt(source) : value;
}

/** Members of the source's responses. */
export const members = {
  /** Text that the database can store: no NUL, no half of a surrogate pair. */
  text: z.string().transform((value) => value.replaceAll('\0', '').toWellFormed()),
  count: z.int().min(0),
  /** An integer of up to 30 digits, as a string or a number, exact to the last digit. */
  tokens: z.union([
    z.string().regex(/^(0|[1-9]\d{0,29})$/),
    z.int().min(0).transform(String),
    z
      .bigint()
      .min(0n)
      .max(10n ** 30n - 1n)
      .transform(String),
  ]),
  day: z.string().transform((value, context) => parsed(parseDay(value), context, 'not a day')),
  /** Null when the source does not state it. */
  asOf: z
    .string()
    .transform((value, context) => parsed(parseInstant(value), context, 'not an instant'))
    .nullish()
    .transform((value) => value ?? null),
};

function parsed(value: number | null, context: z.RefinementCtx, message: string): number {
  if (value !== null) return value;
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
}
