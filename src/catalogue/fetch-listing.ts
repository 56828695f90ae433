import type { Agent, request } from 'undici';
import { ModelMetadataError, maxMetadataBytes } from '../config/model-metadata/metadata.ts';

/** How long and how large an answer may be, and how often it may send us elsewhere. */
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
 * The text of a listing of models at a URL that the operator named. Sends no credential and keeps nothing. Follows a few redirects,
 * never from https to http. Throws a `ModelMetadataError` that says what went wrong.
 */
export async function fetchListing(url: string, limits: ListingLimits = defaultLimits): Promise<string> {
  // Loaded here, since what serves never comes here, and it takes several megabytes.
  const { Agent, request } = await import('undici');
  const agent = new Agent({ connect: { timeout: limits.connectMs } });
  const signal = AbortSignal.timeout(limits.wholeMs);
  try {
    return await follow(addressOf(url, null), { request, agent, signal, limits });
  } catch (error) {
    if (error instanceof ModelMetadataError) throw error;
    if (signal.aborted) throw new ModelMetadataError(`no whole answer within ${limits.wholeMs} ms`);
    if (error instanceof TypeError) throw new ModelMetadataError('the answer is not UTF-8');
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
    const answer = await request(url, {
      dispatcher: agent,
      headers,
      signal,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const { location } = answer.headers;
    if (answer.statusCode >= 300 && answer.statusCode < 400 && typeof location === 'string') {
      await answer.body.dump({ limit: 65_536, signal });
      url = addressOf(location, url);
      continue;
    }
    if (answer.statusCode !== 200) throw new ModelMetadataError(`the answer is ${answer.statusCode}`);
    const encoding = answer.headers['content-encoding'] ?? 'identity';
    if (encoding !== 'identity')
      throw new ModelMetadataError('the answer is compressed, which was not asked for');
    return textOf(answer.body, limits.bodyBytes);
  }
  throw new ModelMetadataError(`it leads elsewhere more than ${limits.redirects} times`);
}

async function textOf(body: AsyncIterable<Buffer>, maxBytes: number): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > maxBytes) throw new ModelMetadataError(`the answer has more than ${maxBytes} bytes`);
    pieces.push(piece);
  }
  return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(pieces));
}

function addressOf(text: string, from: URL | null): URL {
  const url = URL.parse(text, from?.href);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new ModelMetadataError('it leads to no http or https address');
  if (url.username !== '' || url.password !== '')
    throw new ModelMetadataError('the address carries a user or a password');
  if (from?.protocol === 'https:' && url.protocol !== 'https:')
    throw new ModelMetadataError('it leads from https to http');
  return url;
}
