import type { Language } from '../format/money.ts';

/** The server rejected a request, or could not be reached. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** 0: there was no response. */
  readonly status: number;
  /** The stable name of the failure (`key_limit_exceeded`), or `unreachable`. */
  readonly type: string;
  /** The server's own words. */
  readonly words: Readonly<Partial<Record<Language, string>>>;
  /** The id of the request, which the server's log has too. */
  readonly requestId: string | null;

  constructor(failure: {
    readonly status: number;
    readonly type: string;
    readonly words?: Readonly<Partial<Record<Language, string>>>;
    readonly requestId?: string | null;
  }) {
    super(`${failure.status} ${failure.type}`);
    this.status = failure.status;
    this.type = failure.type;
    this.words = failure.words ?? {};
    this.requestId = failure.requestId ?? null;
  }

  /** Whether the same request may succeed later. */
  get isTemporary(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** Translates a key of the common texts; returns the key itself when there is none. */
type Translate = (key: string) => string;

/**
 * What went wrong, in words for a person: our own text for the failure's name, else the server's, else
 * that the server failed or that something unknown happened.
 */
export function wordsOfError(error: unknown, language: Language, t: Translate): string {
  if (!(error instanceof ApiError)) return t('common:error.unknown');
  const key = `common:failure.${error.type}`;
  const own = t(key);
  if (own !== key && own !== `failure.${error.type}`) return own;
  return error.words[language] ?? t(error.status >= 500 ? 'common:failure.server' : 'common:error.unknown');
}

/** The failure of a response that is not OK. A proxy's page has no JSON: its status must do. */
export async function errorOf(response: Response): Promise<ApiError> {
  const requestId = response.headers.get('x-request-id');
  const body: unknown = await response.json().catch(() => null);
  const error = memberOf(body, 'error');
  const type = memberOf(error, 'type');
  const message = memberOf(error, 'message');
  return new ApiError({
    status: response.status,
    type: typeof type === 'string' ? type : `http_${response.status}`,
    words: { ...wordIn(message, 'ko'), ...wordIn(message, 'en') },
    requestId,
  });
}

function wordIn(message: unknown, language: Language): Partial<Record<Language, string>> {
  const text = memberOf(message, language);
  return typeof text === 'string' ? { [language]: text } : {};
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && name in value
    ? (value as Record<string, unknown>)[name]
    : undefined;
}
