import { catalogue, type Failure, type Refusal } from './catalogue.ts';

/** The body of every JSON error under `/api/v1` (service.md 7.1). */
export interface ErrorBody {
  readonly error: {
    readonly code: number;
    readonly message: string;
    readonly metadata: { readonly error_type: string; readonly [extra: string]: unknown };
  };
}

/** What the outside sees of a refusal: status, body, and the headers that follow from the body. */
export interface RenderedError {
  readonly status: number;
  readonly body: ErrorBody;
  readonly headers: Readonly<Record<string, string>>;
}

/** Renders a refusal. `error.code` equals the status by construction (service.md 7.1). */
export function renderRefusal(refusal: Refusal): RenderedError {
  const row = catalogue[refusal.failure];
  const headers = row.headers as ((extras: object) => Record<string, string>) | undefined;
  return {
    status: row.status,
    body: {
      error: {
        code: row.status,
        message: refusal.message,
        metadata: { error_type: errorTypeOf(refusal.failure), ...refusal.extras },
      },
    },
    headers: { ...headers?.(refusal.extras), ...(row.retry ? {} : { 'x-should-retry': 'false' }) },
  };
}

/** The `error_type` of a row (service.md 7.2). */
export function errorTypeOf(failure: Failure): string {
  return catalogue[failure].errorType ?? failure;
}

/** The HTTP status of a row. */
export function statusOf(failure: Failure): number {
  return catalogue[failure].status;
}
