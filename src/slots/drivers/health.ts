import { get as getHttp, type RequestOptions, request as requestHttp } from 'node:http';
import { get as getHttps, request as requestHttps } from 'node:https';
import type { Clock } from '../../time/clock.ts';

/** An engine that takes longer than this to respond to a health check is not healthy. */
const timeoutMs = 2000;

/** Longer model lists are rejected. */
const maxBytes = 1_000_000;

/** The status of a GET of `url`, on a connection of its own; null without a response within 2 s. */
export function statusOf(url: string, clock: Clock): Promise<number | null> {
  return new Promise((resolve) => {
    const get = url.startsWith('https:') ? getHttps : getHttp;
    const request = get(url, { agent: false }, (response) => {
      resolve(response.statusCode ?? null);
      response.resume();
    });
    const timer = clock.after(timeoutMs, () => request.destroy(new Error('no answer')));
    request.on('error', () => resolve(null));
    request.on('close', () => timer.cancel());
  });
}

/**
 * The engine's full response; null when there is none, or more than a megabyte, within `limitMs`.
 */
export function requestEngine(
  method: 'GET' | 'POST',
  url: string,
  body: string | null,
  limitMs: number,
  clock: Clock,
): Promise<{ readonly status: number; readonly text: string } | null> {
  return new Promise((resolve) => {
    const headers = body === null ? {} : { 'content-type': 'application/json' };
    const options: RequestOptions = { agent: false, method, headers };
    const open = url.startsWith('https:') ? requestHttps : requestHttp;
    const request = open(url, options, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
        if (text.length > maxBytes) request.destroy(new Error('too long'));
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    const timer = clock.after(limitMs, () => request.destroy(new Error('no answer')));
    request.on('error', () => resolve(null));
    request.on('close', () => {
      timer.cancel();
      resolve(null);
    });
    request.end(body ?? undefined);
  });
}

/**
 * Null when the engine at `baseUrl` serves `model`, or does not list its models; else what it
 * serves instead. Only its list of models distinguishes one engine of ours from another.
 */
export async function otherModel(baseUrl: string, model: string, clock: Clock): Promise<string | null> {
  const answer = await requestEngine('GET', `${baseUrl}/models`, null, timeoutMs, clock);
  if (answer?.status !== 200) return null;
  const names = namesIn(answer.text);
  return names.length === 0 || names.includes(model) ? null : names.slice(0, 3).join(', ');
}

function namesIn(text: string): readonly string[] {
  try {
    const parsed: unknown = JSON.parse(text);
    const rows = typeof parsed === 'object' && parsed !== null && 'data' in parsed ? parsed.data : null;
    if (!Array.isArray(rows)) return [];
    return rows.flatMap((row: unknown) =>
      typeof row === 'object' && row !== null && 'id' in row && typeof row.id === 'string' ? [row.id] : [],
    );
  } catch {
    return [];
  }
}
