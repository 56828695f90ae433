import type { IncomingMessage } from 'node:http';
import { refuse } from '../errors/catalogue.ts';
import { ClientLeft } from '../errors/given-up.ts';
import { JsonGuard } from '../wire/json-guard.ts';

/** The body is larger than the service takes: the one error that is not JSON (service.md §8). */
export class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge';
}

/** Whether the head of a request already says that its body is larger than `maxBytes`. */
export function declaresTooLarge(request: IncomingMessage, maxBytes: number): boolean {
  return Number(request.headers['content-length'] ?? 0) > maxBytes;
}

/**
 * Collects a JSON body, watching its shape as it arrives, so that a hostile one is refused after its first packets and never
 * parsed. Throws `BodyTooLarge`, `400 invalid_request`, or the signal's reason when that aborts before its end: the client may be
 * gone already when this is called.
 */
export function readBody(request: IncomingMessage, maxBytes: number, signal: AbortSignal): Promise<Buffer> {
  const guard = new JsonGuard();
  const pieces: Buffer[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    const settle = (outcome: () => void): void => {
      request.off('data', onData).off('end', onEnd).off('error', onError);
      signal.removeEventListener('abort', onAbort);
      outcome();
    };
    const onData = (piece: Buffer): void => {
      bytes += piece.length;
      const refusal = bytes > maxBytes ? new BodyTooLarge() : refusalOf(guard.push(piece));
      if (refusal !== null) settle(() => reject(refusal));
      else pieces.push(piece);
    };
    const onEnd = (): void =>
      settle(() => resolve(pieces.length === 1 ? (pieces[0] ?? empty) : Buffer.concat(pieces, bytes)));
    const onAbort = (): void => settle(() => reject(signal.reason));
    const onError = (): void =>
      settle(() => reject(new ClientLeft('the client left while sending the body')));
    if (signal.aborted) return reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    request.on('data', onData).on('end', onEnd).on('error', onError);
  });
}

/** Why a body of a hostile shape is refused. */
function refusalOf(fault: ReturnType<JsonGuard['push']>): Error | null {
  if (fault === null) return null;
  const what = fault === 'too_deep' ? 'nested too deeply' : 'made of too many parts';
  return refuse('invalid_request', `The body is ${what}.`);
}

const empty = Buffer.alloc(0);
