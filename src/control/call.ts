import { request } from 'node:http';
import type { Clock } from '../time/clock.ts';
import type { ControlResponse } from './serve.ts';
import { findSocket } from './socket-path.ts';

/** The server is unreachable: none listens, this user has no permission, or the response was incomplete. */
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

/** Calls the server of `dataDir`; throws `ControlUnreachable` when there is none, or it does not respond. */
export async function callControl(
  dataDir: string,
  call: ControlCall,
  clock: Clock,
): Promise<ControlResponse> {
  try {
    const socketPath = findSocket(dataDir);
    if (socketPath === null) throw new ControlUnreachable('none', 'there is no control socket');
    return await send(socketPath, call, clock);
  } catch (thrown) {
    if (thrown instanceof ControlUnreachable) throw thrown;
    const { code, message } = thrown as { readonly code?: unknown; readonly message?: string };
    throw new ControlUnreachable(reasons.get(code) ?? 'silent', message ?? String(thrown));
  }
}

function send(
  socketPath: string,
  { method, path, limitMs }: ControlCall,
  clock: Clock,
): Promise<ControlResponse> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ socketPath, method, path, agent: false }, (response) => {
      const pieces: Buffer[] = [];
      let bytes = 0;
      response.on('data', (piece: Buffer) => {
        bytes += piece.length;
        if (bytes > maxResponseBytes) outgoing.destroy(new Error('the response is too large'));
        else pieces.push(piece);
      });
      response.on('error', reject);
      response.on('end', () => {
        try {
          const body: unknown = JSON.parse(Buffer.concat(pieces).toString('utf8'));
          resolve({ status: response.statusCode ?? 0, body });
        } catch {
          reject(new Error('the control socket returned invalid JSON'));
        }
      });
    });
    const late =
      limitMs === null
        ? null
        : clock.after(limitMs, () => outgoing.destroy(new Error('no response in time')));
    outgoing.on('error', reject);
    outgoing.on('close', () => late?.cancel());
    outgoing.end();
  });
}
