import { echoed, type Message } from './messages.ts';

/**
 * Every failure of a request: its HTTP status, its name on the wire, the extra fields of its body
 * and the headers that follow from them. Only this file pairs a status with an error_type
 * (spec:errors/2,3).
 */
export const catalogue = {
  invalid_request: row({ status: 400, retry: false }),
  model_not_found: row<{ model: string }>({ status: 400, retry: false }),
  invalid_api_key: row({ status: 401, retry: false }),
  expired_api_key: row({ status: 401, retry: false }),
  insufficient_credits: row<{ balance_krw: string }>({ status: 402, retry: false }),
  key_limit_exceeded: row<{ limit_krw: string; usage_krw: string }>({ status: 402, retry: false }),
  key_suspended: row({ status: 403, retry: false }),
  no_endpoints_found: row<{ models: readonly string[] }>({ status: 404, retry: false }),
  /**
   * A resource that does not exist or belongs to another account: both must look the same, so there
   * are no extras.
   */
  not_found: row({ status: 404, retry: false, errorType: 'not_supported' }),
  no_such_path: row<{ path: string }>({ status: 404, retry: false, errorType: 'not_supported' }),
  method_not_allowed: row<{ path: string; method: string; allow: readonly string[] }>({
    status: 405,
    retry: false,
    errorType: 'not_supported',
    headers: (extras) => ({ Allow: extras.allow.join(', ') }),
  }),
  timeout: row<{ timeout_sec: number }>({ status: 408, retry: true }),
  rate_limit_exceeded: row<{ retry_after_sec: number }>({ status: 429, retry: true, headers: retryAfter }),
  server: row({ status: 500, retry: true }),
  /** Memory is too old to be used, and what is newer cannot be read (spec:errors/11.1). */
  database_away: row<{ retry_after_sec: number }>({
    status: 500,
    retry: true,
    errorType: 'server',
    headers: retryAfter,
  }),
  provider_error: row<{ provider_code: number | null }>({ status: 502, retry: true }),
  /** Every candidate rejected the request itself, with 400, 413 or 422: a retry cannot help. */
  rejected_upstream: row<{ provider_code: number | null; upstream_message: string | null }>({
    status: 502,
    retry: false,
    errorType: 'provider_error',
  }),
  /**
   * This process is at its memory limit. spec:errors/2 has one pair for 503, which clients retry
   * (docs/decisions/memory-budget.md).
   */
  overloaded: row<{ retry_after_sec: number }>({
    status: 503,
    retry: true,
    errorType: 'model_loading',
    headers: retryAfter,
  }),
  model_loading: row<{ retry_after_sec: number }>({ status: 503, retry: true, headers: retryAfter }),
} as const;

/** The name of a row. */
export type Failure = keyof typeof catalogue;

/** The extra metadata that a failure's body carries (spec:errors/3). */
export type ExtrasOf<F extends Failure> = (typeof catalogue)[F] extends Row<infer Extras> ? Extras : never;

interface Row<Extras extends object> {
  readonly status: number;
  /** Whether a retry can help (spec:errors/4.6); false adds `x-should-retry: false`. */
  readonly retry: boolean;
  /** The `error_type`, where it differs from the name of the row. */
  readonly errorType?: string;
  readonly headers?: (extras: Extras) => Readonly<Record<string, string>>;
}

function row<Extras extends object = Record<never, never>>(declared: Row<Extras>): Row<Extras> {
  return declared;
}

function retryAfter(extras: { readonly retry_after_sec: number }): Readonly<Record<string, string>> {
  return { 'Retry-After': String(extras.retry_after_sec) };
}

/** Whether responses of this row state when to retry. */
export function hasRetryAfter(failure: Failure): boolean {
  const { headers }: { readonly headers?: unknown } = catalogue[failure];
  return headers === retryAfter;
}

/** Thrown to reject a request. `http/render-error.ts` renders it. */
export class Refusal<F extends Failure = Failure> extends Error {
  override readonly name = 'Refusal';
  readonly failure: F;
  readonly extras: ExtrasOf<F>;

  constructor(failure: F, message: string, extras: ExtrasOf<F>) {
    super(message);
    this.failure = failure;
    this.extras = extras;
  }
}

/**
 * `refuse('model_not_found', messages.modelNotFound(model), { model })`: the row determines the
 * type of the extras.
 */
export function refuse<F extends Failure>(
  failure: F,
  message: Message,
  ...[extras]: keyof ExtrasOf<F> extends never ? [] : [ExtrasOf<F>]
): Refusal<F> {
  return new Refusal(failure, message, (extras ?? {}) as ExtrasOf<F>);
}

/** The body of every JSON error under `/api/v1` (spec:errors/1). */
export interface ErrorBody {
  readonly error: {
    readonly code: number;
    readonly message: string;
    readonly metadata: { readonly error_type: string; readonly [extra: string]: unknown };
  };
}

/** A refusal as a response: status, body, and the headers that follow from them. */
export interface RenderedError {
  readonly status: number;
  readonly body: ErrorBody;
  readonly headers: Readonly<Record<string, string>>;
}

/** Messages cut their parameters; this bounds one with many of them. */
const maxMessageLength = 2_000;

/**
 * Renders a refusal. The message cuts the values of the request that it repeats; `metadata` has them
 * whole (spec:errors/1.7). `error.code` equals the status (spec:errors/1.2).
 */
export function renderRefusal(refusal: Refusal): RenderedError {
  const row = catalogue[refusal.failure];
  const headers = row.headers as ((extras: object) => Record<string, string>) | undefined;
  return {
    status: row.status,
    body: {
      error: {
        code: row.status,
        message: refusal.message.length > maxMessageLength ? echoed(refusal.message) : refusal.message,
        metadata: { error_type: errorTypeOf(refusal.failure), ...refusal.extras },
      },
    },
    headers: { ...headers?.(refusal.extras), ...(row.retry ? {} : { 'x-should-retry': 'false' }) },
  };
}

/** The `error_type` of a row (spec:errors/2). */
export function errorTypeOf(failure: Failure): string {
  return catalogue[failure].errorType ?? failure;
}

/** The HTTP status of a row. */
export function statusOf(failure: Failure): number {
  return catalogue[failure].status;
}
