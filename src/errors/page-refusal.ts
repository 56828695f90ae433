import { catalogue, Refusal } from './catalogue.ts';
import { type Bilingual, echoed } from './messages.ts';

/**
 * The failures that only a request of the pages can have, with their statuses; all others are those
 * of the catalogue. The web branches on the name, never on the message.
 */
export const pageFailures = {
  invalid_origin: 403,
  session_required: 401,
  /** An operator's token that is unknown, expired or revoked. */
  invalid_token: 401,
  /** A token manages no operators, tokens or sessions. */
  person_required: 403,
  /** A wrong password, link or code: all look the same. */
  sign_in_refused: 401,
  invalid_link: 400,
  invalid_email: 400,
  email_taken: 409,
  weak_password: 400,
  /** A way to sign in that this address or configuration does not have. */
  unavailable_here: 400,
  /** The OpenID provider cannot be reached. */
  provider_away: 503,
  /** Credentials are changed soon after a sign-in, or with the password. */
  confirmation_required: 403,
  /** The session belongs to the account and to no owner. */
  owner_required: 403,
  role_required: 403,
  /** More credit than the operator's role permits in a day. */
  above_limit: 403,
  idempotency_key_required: 400,
  /** The idempotency key was used for another request. */
  idempotency_conflict: 409,
  /** The request with this idempotency key is still running. */
  change_in_progress: 409,
  /** The state of the resource does not allow the change. */
  conflict: 409,
  /** The database did not confirm the change: the same request may be sent again. */
  outcome_unknown: 503,
  too_large: 413,
  too_many_attempts: 429,
  too_many_watchers: 429,
  /** The database did not answer a read in time. */
  reading_too_slow: 503,
} as const;

/** The name of a failure of the pages. */
export type PageFailure = keyof typeof pageFailures;

/** Thrown to reject a request of the pages. */
export class PageRefusal extends Error {
  override readonly name = 'PageRefusal';
  readonly failure: PageFailure;
  readonly text: Bilingual;
  /** Further members of the error. */
  readonly extras: Readonly<Record<string, unknown>>;
  /** Seconds for `Retry-After`; null: none. */
  readonly retryAfterSec: number | null;

  constructor(
    failure: PageFailure,
    text: Bilingual,
    more: { readonly extras?: Readonly<Record<string, unknown>>; readonly retryAfterSec?: number } = {},
  ) {
    super(`${text.ko} ${text.en}`);
    this.failure = failure;
    this.text = text;
    this.extras = more.extras ?? {};
    this.retryAfterSec = more.retryAfterSec ?? null;
  }
}

/** The body of every JSON error of the page API. */
export interface PageErrorBody {
  readonly error: {
    readonly code: number;
    readonly type: string;
    readonly message: Bilingual;
    readonly [extra: string]: unknown;
  };
}

/** A refusal as the response of the page API: status, body and headers. */
export function renderPageRefusal(refusal: Refusal | PageRefusal): {
  readonly status: number;
  readonly body: PageErrorBody;
  readonly headers: Readonly<Record<string, string>>;
} {
  const { failure } = refusal;
  const status =
    refusal instanceof Refusal ? catalogue[refusal.failure].status : pageFailures[refusal.failure];
  const message = refusal instanceof Refusal ? inLanguages(refusal.message) : refusal.text;
  return {
    status,
    body: { error: { ...refusal.extras, code: status, type: failure, message } },
    headers: headersOf(refusal),
  };
}

function headersOf(refusal: Refusal | PageRefusal): Readonly<Record<string, string>> {
  if (refusal instanceof Refusal) {
    const { headers } = catalogue[refusal.failure] as {
      headers?: (extras: object) => Record<string, string>;
    };
    return headers?.(refusal.extras) ?? {};
  }
  return refusal.retryAfterSec === null ? {} : { 'Retry-After': String(refusal.retryAfterSec) };
}

/**
 * Takes apart a message of the API, which is Korean, then English; one in a single language is that
 * of both.
 */
export function inLanguages(message: string): Bilingual {
  const korean = /^.*[가-힣][^가-힣]*?[.)](?= )/s.exec(message)?.[0];
  if (korean === undefined) return { ko: echoed(message), en: echoed(message) };
  return { ko: echoed(korean), en: echoed(message.slice(korean.length + 1)) };
}
