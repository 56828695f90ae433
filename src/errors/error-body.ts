import { catalogue, type Failure, type Refusal } from './catalogue.ts';
import { echoed } from './echo.ts';

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
