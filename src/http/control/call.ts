import type { Clock } from '../../time/clock.ts';
import { request } from '../client/request.ts';
import type { ControlResponse } from './serve.ts';
import { findSocket } from './socket-path.ts';

/**
 * The server is unreachable: none listens, this user has no permission, or the response was
 * incomplete.
 */
export class ControlUnreachable extends Error {
  override readonly name = 'ControlUnreachable';
  readonly why: 'none' | 'denied' | 'silent';

  constructor(why: ControlUnreachable['why'], message: string) {
    super(message);
    this.why = why;
  }
}

/** One request to the server on a data directory. */
export interface ControlCall {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** Timeout from the request to the complete response; null: none. */
  readonly limitMs: number | null;
}

/** A list of slots is far shorter. */
const maxResponseBytes = 16 * 1024 * 1024;

const reasons = new Map<unknown, ControlUnreachable['why']>([
  ['ENOENT', 'none'],
  ['ENOTDIR', 'none'],
  ['ECONNREFUSED', 'none'],
  ['EACCES', 'denied'],
  ['EPERM', 'denied'],
]);

/**
 * Calls the server of `dataDir`; throws `ControlUnreachable` when there is none, or it does not
 * respond.
 */
export async function callControl(
  dataDir: string,
  call: ControlCall,
  clock: Clock,
): Promise<ControlResponse> {
  try {
    const socketPath = findSocket(dataDir);
    if (socketPath === null) throw new ControlUnreachable('none', 'there is no control socket');
    const { method, path, limitMs } = call;
    const limits = { clock, timeoutMs: limitMs, maxBytes: maxResponseBytes };
    const response = await request(`http://naru${path}`, { ...limits, method, socketPath });
    return { status: response.status, body: await response.json() };
  } catch (thrown) {
    if (thrown instanceof ControlUnreachable) throw thrown;
    const { code, message } = thrown as { readonly code?: unknown; readonly message?: string };
    throw new ControlUnreachable(reasons.get(code) ?? 'silent', message ?? String(thrown));
  }
}
