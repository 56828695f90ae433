import { request, requestJson, requestStatus } from '../../http-client/request.ts';
import type { Clock } from '../../time/clock.ts';

/** An engine that takes longer than this to respond to a health check is not healthy. */
const timeoutMs = 2000;

/** Longer model lists are rejected. */
const maxBytes = 1_000_000;

/** The status of a GET of `url`, on a connection of its own; null without a response within 2 s. */
export async function statusOf(url: string, clock: Clock): Promise<number | null> {
  return requestStatus(url, { clock, timeoutMs }).catch(() => null);
}

/**
 * The status of a POST to an engine after its whole response; null without one within `limitMs`.
 */
export async function postToEngine(
  url: string,
  body: object | null,
  limitMs: number,
  clock: Clock,
): Promise<number | null> {
  const sent =
    body === null ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  try {
    const response = await request(url, { clock, timeoutMs: limitMs, maxBytes, method: 'POST', ...sent });
    await response.bytes();
    return response.status;
  } catch {
    return null;
  }
}

/**
 * Null when the engine at `baseUrl` serves `model`, or does not list its models; else what it
 * serves instead. Only its list of models distinguishes one engine of ours from another.
 */
export async function otherModel(baseUrl: string, model: string, clock: Clock): Promise<string | null> {
  const list = await requestJson(`${baseUrl}/models`, { clock, timeoutMs, maxBytes }).catch(() => null);
  const names = namesIn(list);
  return names.length === 0 || names.includes(model) ? null : names.slice(0, 3).join(', ');
}

function namesIn(list: unknown): readonly string[] {
  const rows = typeof list === 'object' && list !== null && 'data' in list ? list.data : null;
  if (!Array.isArray(rows)) return [];
  return rows.flatMap((row: unknown) =>
    typeof row === 'object' && row !== null && 'id' in row && typeof row.id === 'string' ? [row.id] : [],
  );
}
