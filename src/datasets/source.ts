import { z } from 'zod';
import type { Config } from '../config/config.ts';
import { HttpError, HttpStatusError } from '../http/client/http-error.ts';
import { requestText } from '../http/client/request.ts';
import { retryAfterOf } from '../http/client/retry-after.ts';
import type { Database } from '../store/database.ts';
import type { Sql } from '../store/sql.ts';
import { type Clock, parseInstant, pause } from '../time/clock.ts';
import { parseDay, utcDayAt } from './days.ts';
import { countRequest, hasLease } from './sync-sql.ts';

/** The limits of one request, milliseconds. */
export interface SourceLimits {
  readonly connectMs: number;
  /** From the request to the last byte. */
  readonly wholeMs: number;
  readonly bodyBytes: number;
}

/** A window of 92 days has about 500 KB and takes seconds. */
export const defaultSourceLimits: SourceLimits = {
  connectMs: 10_000,
  wholeMs: 60_000,
  bodyBytes: 32 * 1024 * 1024,
};

/**
 * The pace of requests to the source. It publishes 30 requests a minute and 500 a day for a key
 * (spec:compat/11.4).
 */
export interface Pace {
  /** Time between two requests, milliseconds. */
  readonly spacingMs: number;
  readonly requestsPerDay: number;
  /** Delays before the second, third … attempt of one request. */
  readonly backoffMs: readonly number[];
  /** The longest `Retry-After` to wait for; after a longer one the whole sync is retried. */
  readonly maxWaitMs: number;
}

/** 28 requests a minute and 450 a day leave a margin for other users of the key. */
export const defaultPace: Pace = {
  spacingMs: 2_100,
  requestsPerDay: 450,
  backoffMs: [2_000, 15_000, 60_000],
  maxWaitMs: 120_000,
};

/** How long the lease of the source lasts after a request: longer than any wait between two. */
export const leaseMs = 300_000;

/** A failed request, or a response without the published shape. */
export class SourceFault extends Error {
  override readonly name = 'SourceFault';
  /** False: the source will not respond to this request, not even to a retry. */
  readonly canRetry: boolean;
  /** How long after its response a retry makes sense, milliseconds; null when it is not stated. */
  readonly retryAfterMs: number | null;

  constructor(message: string, { canRetry = true, retryAfterMs = null as number | null } = {}) {
    super(message);
    this.canRetry = canRetry;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The request budget of the day is spent. */
export class BudgetSpent extends Error {
  override readonly name = 'BudgetSpent';
}

/** Another process took over the lease of the source; this one must not publish. */
export class SourceLost extends Error {
  override readonly name = 'SourceLost';
  override readonly message = 'another process has the lease of the source';
}

/** What `SourceReader` needs. */
export interface ReaderParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly pace: Pace;
  readonly limits: SourceLimits;
  readonly baseUrl: string;
  readonly key: NonNullable<Config['datasets']['syncKey']>;
  /** Of the lease. */
  readonly holder: string;
  /** Aborts when the gateway closes. */
  readonly signal: AbortSignal;
}

/**
 * Reads from the source for the process that has its lease: paced, counted in the database, retried
 * on failure, and checked.
 */
export class SourceReader {
  readonly #parts: ReaderParts;
  #nextAtMs: number;

  constructor(parts: ReaderParts, requestedAtMs: number | null) {
    this.#parts = parts;
    const { clock, pace } = parts;
    const sinceMs = requestedAtMs === null ? pace.spacingMs : Math.max(0, clock.now() - requestedAtMs);
    this.#nextAtMs = clock.monotonic() + Math.max(0, pace.spacingMs - sinceMs);
  }

  /**
   * Requests a path and checks the response. Throws the last `SourceFault` when every attempt
   * failed, `BudgetSpent`, `SourceLost`, or the reason for which the sync was stopped.
   */
  async read<T>(path: string, query: Readonly<Record<string, string>>, shape: z.ZodType<T>): Promise<T> {
    const { pace, clock, signal } = this.#parts;
    for (let tries = 0; ; tries += 1) {
      await this.#turn();
      try {
        return await this.#get(path, query, shape);
      } catch (error) {
        signal.throwIfAborted();
        const fault = faultOf(error, path, clock);
        const backoffMs = pace.backoffMs[tries];
        const waitMs = Math.max(backoffMs ?? 0, fault.retryAfterMs ?? 0);
        if (!fault.canRetry || backoffMs === undefined || waitMs > pace.maxWaitMs) throw fault;
        await pause(clock, waitMs, signal);
      }
    }
  }

  /**
   * Runs `work` in one transaction, if this process still has the lease: what is published becomes
   * visible as a whole. Throws `SourceLost` otherwise.
   */
  publish(work: (sql: Sql) => Promise<void>): Promise<void> {
    return this.#parts.database.transaction(async (sql) => {
      if (!(await hasLease(sql, this.#parts.holder))) throw new SourceLost();
      await work(sql);
    });
  }

  async #get<T>(path: string, query: Readonly<Record<string, string>>, shape: z.ZodType<T>): Promise<T> {
    const { clock, limits, baseUrl, key, signal } = this.#parts;
    const text = await requestText(`${baseUrl}${path}?${new URLSearchParams(query)}`, {
      clock,
      headers: {
        authorization: `Bearer ${key.reveal()}`,
        accept: 'application/json',
        'user-agent': 'naru',
      },
      timeoutMs: limits.wholeMs,
      connectTimeoutMs: limits.connectMs,
      maxBytes: limits.bodyBytes,
      signal,
    });
    return shape.parse(JSON.parse(text, exactly));
  }

  /** Waits until the next request is allowed and counts it. */
  async #turn(): Promise<void> {
    const { clock, pace, signal, database, holder } = this.#parts;
    await pause(clock, Math.max(0, this.#nextAtMs - clock.monotonic()), signal);
    this.#nextAtMs = clock.monotonic() + pace.spacingMs;
    const nowMs = clock.now();
    const limit = { utcDay: utcDayAt(nowMs), max: pace.requestsPerDay, nowMs, untilMs: nowMs + leaseMs };
    const counted = await database.transaction((sql) => countRequest(sql, holder, limit));
    if (counted === 'lost') throw new SourceLost();
    if (counted === 'spent')
      throw new BudgetSpent(`the ${pace.requestsPerDay} requests of today are used up`);
  }
}

/** Messages never quote a body, which may contain the key. */
function faultOf(error: unknown, path: string, clock: Clock): SourceFault {
  if (error instanceof HttpStatusError) {
    const { status, headers } = error;
    const message = `${path}: the source responded with ${status}${status === 401 ? ': it rejects the sync key' : ''}`;
    const canRetry = status === 408 || status === 429 || status >= 500;
    return new SourceFault(message, { canRetry, retryAfterMs: retryAfterOf(headers, clock.now()) });
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
