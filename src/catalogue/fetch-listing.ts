import type { Agent, request } from 'undici';
import { ModelMetadataError, maxMetadataBytes } from '../config/model-metadata/metadata.ts';

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
  // Loaded here: the serving process never calls this, and the package takes several megabytes.
  const { Agent, request } = await import('undici');
  const agent = new Agent({ connect: { timeout: limits.connectMs } });
  const signal = AbortSignal.timeout(limits.wholeMs);
  try {
    return await follow(addressOf(url, null), { request, agent, signal, limits });
  } catch (error) {
    if (error instanceof ModelMetadataError) throw error;
    if (signal.aborted) throw new ModelMetadataError(`no complete response within ${limits.wholeMs} ms`);
    if (error instanceof TypeError) throw new ModelMetadataError('the response is not UTF-8');
    throw new ModelMetadataError(error instanceof Error ? error.message || error.name : String(error));
  } finally {
    await agent.destroy();
  }
}

interface Lookup {
  readonly request: typeof request;
  readonly agent: Agent;
  readonly signal: AbortSignal;
  readonly limits: ListingLimits;
}

async function follow(first: URL, { request, agent, signal, limits }: Lookup): Promise<string> {
  let url = first;
  for (let hops = 0; hops <= limits.redirects; hops += 1) {
    const headers = { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': 'naru' };
    const response = await request(url, {
      dispatcher: agent,
      headers,
      signal,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const { location } = response.headers;
    if (response.statusCode >= 300 && response.statusCode < 400 && typeof location === 'string') {
      await response.body.dump({ limit: 65_536, signal });
      url = addressOf(location, url);
      continue;
    }
    if (response.statusCode !== 200)
      throw new ModelMetadataError(`the response status is ${response.statusCode}`);
    const encoding = response.headers['content-encoding'] ?? 'identity';
    if (encoding !== 'identity')
      throw new ModelMetadataError('the response is compressed, which was not requested');
    return textOf(response.body, limits.bodyBytes);
  }
  throw new ModelMetadataError(`it redirects more than ${limits.redirects} times`);
}

async function textOf(body: AsyncIterable<Buffer>, maxBytes: number): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > maxBytes) throw new ModelMetadataError(`the response has more than ${maxBytes} bytes`);
    pieces.push(piece);
  }
  return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(pieces));
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
