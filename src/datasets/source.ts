import type { Agent } from 'undici';
import type { Config } from '../config/config.ts';
import type { Clock } from '../time/clock.ts';
import { parseExactJson } from './exact-json.ts';

/** The parameters of a request to the source. */
export type SourceQuery = Readonly<Record<string, string>>;

/** The source of the datasets: one GET at a time, each with limits. */
export interface Source {
  /** The JSON of a path below the API's root. Throws a `SourceFault`, or the signal's reason. */
  get(path: string, query: SourceQuery, signal: AbortSignal): Promise<unknown>;
  close(): Promise<void>;
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
  let agent: Agent | null = null;
  return {
    get: async (path, query, signal) => {
      const url = `${baseUrl}${path}?${new URLSearchParams(query)}`;
      const timeout = new AbortController();
      const timer = clock.after(limits.wholeMs, () => timeout.abort());
      try {
        const both = AbortSignal.any([signal, timeout.signal]);
        agent ??= await openAgent(limits);
        const text = await responseText(agent, url, syncKey.reveal(), both, { limits, clock });
        return parseExactJson(text);
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        throw asFault(error, path, timeout.signal.aborted);
      } finally {
        timer.cancel();
      }
    },
    close: async () => agent?.destroy(),
  };
}

/**
 * The package is loaded on demand: most gateways never call a source, and it takes several
 * megabytes.
 */
async function openAgent(limits: SourceLimits): Promise<Agent> {
  const { Agent } = await import('undici');
  return new Agent({ connections: 1, connect: { timeout: limits.connectMs }, pipelining: 1 });
}

async function responseText(
  dispatcher: Agent,
  url: string,
  key: string,
  signal: AbortSignal,
  { limits, clock }: { readonly limits: SourceLimits; readonly clock: Clock },
): Promise<string> {
  const headers = { authorization: `Bearer ${key}`, accept: 'application/json', 'user-agent': 'naru' };
  const { request } = await import('undici');
  // The whole request has one limit, in the signal.
  const response = await request(url, { dispatcher, headers, signal, headersTimeout: 0, bodyTimeout: 0 });
  if (response.statusCode !== 200) {
    await response.body.dump({ limit: 65_536, signal });
    throw statusFault(response.statusCode, response.headers['retry-after'], clock);
  }
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of response.body) {
    bytes += (piece as Buffer).length;
    if (bytes > limits.bodyBytes)
      throw new SourceFault('unreadable', `the response has more than ${limits.bodyBytes} bytes`);
    pieces.push(piece as Buffer);
  }
  return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(pieces));
}

/** Bodies of errors are not kept: they may contain the key. */
function statusFault(status: number, retryAfter: string | string[] | undefined, clock: Clock): SourceFault {
  const message = `the source responded with ${status}`;
  if (status === 429) return new SourceFault('busy', message, waitOf(retryAfter, clock));
  if (status === 408 || status >= 500) return new SourceFault('broken', message, waitOf(retryAfter, clock));
  return new SourceFault('refused', status === 401 ? `${message}: it rejects the sync key` : message);
}

/** `Retry-After` as milliseconds from now: seconds or an HTTP date; null for anything else. */
function waitOf(header: string | string[] | undefined, clock: Clock): number | null {
  const text = Array.isArray(header) ? header[0] : header;
  if (text === undefined) return null;
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - clock.now());
}

function asFault(error: unknown, path: string, isTimeout: boolean): SourceFault {
  if (error instanceof SourceFault)
    return new SourceFault(error.kind, `${path}: ${error.message}`, error.retryAfterMs);
  if (isTimeout) return new SourceFault('broken', `${path}: no complete response within the limit`);
  if (error instanceof SyntaxError) return new SourceFault('unreadable', `${path}: the response is not JSON`);
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return error instanceof TypeError
    ? new SourceFault('unreadable', `${path}: the response is not UTF-8 (${message})`)
    : new SourceFault('broken', `${path}: ${message}`);
}
