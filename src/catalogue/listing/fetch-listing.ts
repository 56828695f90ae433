import { ModelMetadataError, maxMetadataBytes } from '../../config/model-metadata/metadata.ts';
import { HttpError } from '../../http/client/http-error.ts';
import { request } from '../../http/client/request.ts';
import { systemClock } from '../../time/clock.ts';

/** The limits of the time, the size and the redirects of a response. */
export interface ListingLimits {
  readonly connectMs: number;
  /** From the first request to the last byte, redirects included. */
  readonly wholeMs: number;
  readonly bodyBytes: number;
  readonly redirects: number;
}

const defaultLimits: ListingLimits = {
  connectMs: 10_000,
  wholeMs: 60_000,
  bodyBytes: maxMetadataBytes,
  redirects: 3,
};

/**
 * The text of a listing of models at a URL that the operator gave. Sends no credential and keeps
 * nothing. Follows a few redirects, never from https to http. Throws a `ModelMetadataError` with
 * the reason.
 */
export async function fetchListing(url: string, limits: ListingLimits = defaultLimits): Promise<string> {
  const endMs = systemClock.monotonic() + limits.wholeMs;
  try {
    return await follow(addressOf(url, null), limits, endMs);
  } catch (error) {
    if (error instanceof ModelMetadataError) throw error;
    if (error instanceof HttpError && error.kind === 'timeout')
      throw new ModelMetadataError(`no complete response within ${limits.wholeMs} ms`);
    throw new ModelMetadataError(error instanceof Error ? error.message : String(error));
  }
}

async function follow(first: URL, limits: ListingLimits, endMs: number): Promise<string> {
  const headers = { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': 'naru' };
  let url = first;
  for (let hops = 0; hops <= limits.redirects; hops += 1) {
    const response = await request(url, {
      clock: systemClock,
      headers,
      timeoutMs: Math.max(0, endMs - systemClock.monotonic()),
      connectTimeoutMs: limits.connectMs,
      maxBytes: limits.bodyBytes,
    });
    if (response.status === 200) return response.text();
    response.close();
    const { location } = response.headers;
    if (response.status < 300 || response.status >= 400 || location === undefined)
      throw new ModelMetadataError(`the response status is ${response.status}`);
    url = addressOf(location, url);
  }
  throw new ModelMetadataError(`it redirects more than ${limits.redirects} times`);
}

function addressOf(text: string, from: URL | null): URL {
  const url = URL.parse(text, from?.href);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new ModelMetadataError('the address is not http or https');
  if (url.username !== '' || url.password !== '')
    throw new ModelMetadataError('the address contains a user or a password');
  if (from?.protocol === 'https:' && url.protocol !== 'https:')
    throw new ModelMetadataError('it redirects from https to http');
  return url;
}
