import { request } from 'node:http';
import type { Clock } from '../time/clock.ts';
import type { ControlAnswer } from './serve.ts';
import { findSocket } from './socket-path.ts';

/** Why no server could be asked: none listens, this user may not ask it, or it did not answer to the end. */
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
  /** From the request to the whole answer; null: as long as it takes. */
  readonly limitMs: number | null;
}

/** A list of slots is short; whatever is longer comes from something else. */
const maxResponseBytes = 16 * 1024 * 1024;

const reasons = new Map<unknown, ControlUnreachable['why']>([
  ['ENOENT', 'none'],
  ['ENOTDIR', 'none'],
  ['ECONNREFUSED', 'none'],
  ['EACCES', 'denied'],
  ['EPERM', 'denied'],
]);

/** Asks the server that has `dataDir`; throws `ControlUnreachable` when there is none, or none that answers. */
export async function callControl(dataDir: string, call: ControlCall, clock: Clock): Promise<ControlAnswer> {
  try {
    const socketPath = findSocket(dataDir);
    if (socketPath === null) throw new ControlUnreachable('none', 'there is no control socket');
    return await ask(socketPath, call, clock);
  } catch (thrown) {
    if (thrown instanceof ControlUnreachable) throw thrown;
    const { code, message } = thrown as { readonly code?: unknown; readonly message?: string };
    throw new ControlUnreachable(reasons.get(code) ?? 'silent', message ?? String(thrown));
  }
}

function ask(
  socketPath: string,
  { method, path, limitMs }: ControlCall,
  clock: Clock,
): Promise<ControlAnswer> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, method, path, agent: false }, (response) => {
      const pieces: Buffer[] = [];
      let bytes = 0;
      response.on('data', (piece: Buffer) => {
        bytes += piece.length;
        if (bytes > maxResponseBytes) asked.destroy(new Error('the answer is too long'));
        else pieces.push(piece);
      });
      response.on('error', reject);
      response.on('end', () => {
        try {
          const body: unknown = JSON.parse(Buffer.concat(pieces).toString('utf8'));
          resolve({ status: response.statusCode ?? 0, body });
        } catch {
          reject(new Error('what answers is not JSON'));
        }
      });
    });
    const late =
      limitMs === null ? null : clock.after(limitMs, () => asked.destroy(new Error('no answer in time')));
    asked.on('error', reject);
    asked.on('close', () => late?.cancel());
    asked.end();
  });
}
