import type { Config } from '../config/config.ts';
import { HttpError, HttpStatusError } from '../http-client/http-error.ts';
import { requestText } from '../http-client/request.ts';
import { retryAfterOf } from '../http-client/retry-after.ts';
import type { Clock } from '../time/clock.ts';
import { parseExactJson } from './exact-json.ts';

/** The parameters of a request to the source. */
export type SourceQuery = Readonly<Record<string, string>>;

/** The source of the datasets: one GET at a time, each with limits. */
export interface Source {
  /** The JSON of a path below the API's root. Throws a `SourceFault`, or the signal's reason. */
  get(path: string, query: SourceQuery, signal: AbortSignal): Promise<unknown>;
}

/**
 * The faults of the source. `refused`: it will not respond to this request, not even to a retry;
 * `busy`: retry later; `broken`: it could not be reached or failed; `unreadable`: the response does
 * not have the published shape.
 */
export class SourceFault extends Error {
  override readonly name = 'SourceFault';
  readonly kind: 'refused' | 'busy' | 'broken' | 'unreadable';
  /** How long after its response a retry makes sense, milliseconds; null when it is not stated. */
  readonly retryAfterMs: number | null;

  constructor(kind: SourceFault['kind'], message: string, retryAfterMs: number | null = null) {
    super(message);
    this.kind = kind;
    this.retryAfterMs = retryAfterMs;
  }
}

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

/** Opens the source of the configuration; null without a key (spec:operator/2.1, `datasets:`). */
export function openSource(
  settings: Config['datasets'],
  clock: Clock,
  limits: SourceLimits = defaultSourceLimits,
): Source | null {
  const { syncKey, baseUrl } = settings;
  if (syncKey === null) return null;
  const headers = {
    authorization: `Bearer ${syncKey.reveal()}`,
    accept: 'application/json',
    'user-agent': 'naru',
  };
  const { connectMs: connectTimeoutMs, bodyBytes: maxBytes } = limits;
  return {
    async get(path, query, signal) {
      const url = `${baseUrl}${path}?${new URLSearchParams(query)}`;
      const options = { clock, headers, timeoutMs: limits.wholeMs, connectTimeoutMs, maxBytes, signal };
      try {
        return parseExactJson(await requestText(url, options));
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        throw faultOf(error, path, clock);
      }
    },
  };
}

/** Messages never quote a body, which may contain the key. */
function faultOf(error: unknown, path: string, clock: Clock): SourceFault {
  if (error instanceof HttpStatusError) return statusFault(error, path, clock);
  if (error instanceof HttpError) {
    const isUnreadable = error.kind === 'too_large' || error.kind === 'not_text';
    return new SourceFault(isUnreadable ? 'unreadable' : 'broken', `${path}: ${error.message}`);
  }
  if (error instanceof SyntaxError) return new SourceFault('unreadable', `${path}: the response is not JSON`);
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return new SourceFault('broken', `${path}: ${message}`);
}

function statusFault({ status, headers }: HttpStatusError, path: string, clock: Clock): SourceFault {
  const message = `${path}: the source responded with ${status}`;
  if (status === 429) return new SourceFault('busy', message, retryAfterOf(headers, clock.now()));
  if (status === 408 || status >= 500)
    return new SourceFault('broken', message, retryAfterOf(headers, clock.now()));
  return new SourceFault('refused', status === 401 ? `${message}: it rejects the sync key` : message);
}
