import type { Secret } from '../../config/secret.ts';
import { request, requestJson, requestStatus } from '../../http/client/request.ts';
import type { Clock } from '../../time/clock.ts';

/** An engine that takes longer than this to respond to a health check is not healthy. */
const timeoutMs = 2000;

/** Longer model lists are rejected. */
const maxBytes = 1_000_000;

/** How an engine is asked. */
export interface EngineAccess {
  readonly clock: Clock;
  /** Null: it asks for none. */
  readonly apiKey: Secret | null;
}

/** The headers that an engine with an API key asks for. */
function keyHeaders({ apiKey }: EngineAccess): Record<string, string> {
  return apiKey === null ? {} : { authorization: `Bearer ${apiKey.reveal()}` };
}

/** The status of a GET of `url`, on a connection of its own; null without a response within 2 s. */
export async function statusOf(url: string, access: EngineAccess): Promise<number | null> {
  const { clock } = access;
  return requestStatus(url, { clock, timeoutMs, direct: true, headers: keyHeaders(access) }).catch(
    () => null,
  );
}

/**
 * The status of a POST to an engine after its whole response; null without one within `limitMs`.
 */
export async function postToEngine(
  url: string,
  body: object | null,
  limitMs: number,
  access: EngineAccess,
): Promise<number | null> {
  const sent = body === null ? {} : { body: JSON.stringify(body) };
  const headers = { ...keyHeaders(access), ...(body === null ? {} : { 'content-type': 'application/json' }) };
  try {
    const limits = { clock: access.clock, timeoutMs: limitMs, maxBytes, direct: true };
    const response = await request(url, { ...limits, method: 'POST', headers, ...sent });
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
export async function otherModel(
  baseUrl: string,
  model: string,
  access: EngineAccess,
): Promise<string | null> {
  const limits = { clock: access.clock, timeoutMs, maxBytes, direct: true };
  const list = await requestJson(`${baseUrl}/models`, { ...limits, headers: keyHeaders(access) }).catch(
    () => null,
  );
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
