import type { IncomingMessage } from 'node:http';
import { refuse } from '../errors/catalogue.ts';
import { messages } from '../errors/messages.ts';
import { ClientDisconnected } from '../errors/request-aborted.ts';
import type { Clock } from '../time/clock.ts';
import { ByteCollector } from '../wire/byte-collector.ts';
import type { JsonBody } from '../wire/json-parser.ts';

/**
 * The body is larger than the service accepts: the one error that is not JSON (spec:errors/7.5).
 */
export class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge';
  readonly maxBytes: number;

  constructor(maxBytes: number) {
    super(`a body of more than ${maxBytes} bytes`);
    this.maxBytes = maxBytes;
  }
}

/** Each piece of a body costs the event loop some 3 µs, whatever its size. */
const freePieces = 2_048;
/** Above `freePieces` the pieces of a body must have this many bytes on average. */
const minPieceBytes = 64;
/** A body may arrive at any speed for this long. */
const paceGraceMs = 10_000;
/** After that, its pace is checked this often. */
const paceEveryMs = 5_000;

/** What reading a body needs in addition to the request. */
export interface BodyReading {
  readonly maxBytes: number;
  /** Aborts when the exchange is aborted. */
  readonly signal: AbortSignal;
  /** Called whenever the memory used for the body changes. */
  readonly holding: (bytes: number) => void;
  /** The minimum pace of a body; null: any pace. */
  readonly pace: { readonly clock: Clock; readonly minBytesPerSecond: number } | null;
}

/** Whether a body arrived in so many small pieces that it costs more than its bytes: one-byte chunks. */
function isShredded(pieces: number, bytes: number): boolean {
  return pieces > freePieces + bytes / minPieceBytes;
}

/**
 * Reads the rest of a body whose response is complete. Ends the connection when it arrives in too
 * many small pieces.
 */
export function discardBody(request: IncomingMessage): void {
  let pieces = 0;
  let bytes = 0;
  request.on('data', (piece: Buffer) => {
    pieces += 1;
    bytes += piece.length;
    if (isShredded(pieces, bytes)) request.socket.destroy();
  });
  request.resume();
}

/** The body length that the request head declares; null when it declares none. */
function declaredBytes(request: IncomingMessage): number | null {
  const declared = request.headers['content-length'];
  return declared === undefined ? null : Number(declared);
}

/** Whether the request head declares a body larger than `maxBytes`. */
export function declaresTooLarge(request: IncomingMessage, maxBytes: number): boolean {
  return (declaredBytes(request) ?? 0) > maxBytes;
}

/**
 * Collects a body. Throws `BodyTooLarge`, `400 invalid_request` for too many small pieces, `408
 * timeout` for a body that arrives too slowly, or the signal's reason when that aborts before the
 * end: the client may have disconnected before the call. The rest of a rejected body is not read.
 */
export function readBody(request: IncomingMessage, reading: BodyReading): Promise<JsonBody> {
  const { maxBytes, signal, holding } = reading;
  const body = new ByteCollector(declaredBytes(request) ?? maxBytes);
  let pieces = 0;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const settle = (outcome: () => void): void => {
      stopWatch();
      request.off('data', onData).off('end', onEnd).off('error', onError);
      if (!request.complete) request.pause();
      signal.removeEventListener('abort', onAbort);
      outcome();
      body.clear();
    };
    const stopWatch = watchPace(
      reading,
      () => body.length,
      (refusal) => settle(() => reject(refusal)),
    );
    const onData = (piece: Buffer): void => {
      if (body.length + piece.length > maxBytes) {
        settle(() => reject(new BodyTooLarge(maxBytes)));
        return;
      }
      const heldBytes = body.heldBytes;
      body.push(piece);
      pieces += 1;
      if (isShredded(pieces, body.length)) {
        settle(() => reject(refuse('invalid_request', messages.chunksTooSmall(minPieceBytes))));
        return;
      }
      if (body.heldBytes !== heldBytes) holding(body.heldBytes);
    };
    const onEnd = (): void => settle(() => resolve({ length: body.length, blocks: body.takeBlocks() }));
    const onAbort = (): void => settle(() => reject(signal.reason));
    const onError = (): void =>
      settle(() => reject(new ClientDisconnected('the client left while sending the body')));
    signal.addEventListener('abort', onAbort, { once: true });
    request.on('data', onData).on('end', onEnd).on('error', onError);
  });
}

/** Rejects a body that arrives too slowly. Returns a function that stops the check. */
function watchPace(
  { pace }: BodyReading,
  bytes: () => number,
  refuseWith: (refusal: Error) => void,
): () => void {
  if (pace === null) return () => {};
  const { clock, minBytesPerSecond } = pace;
  let isOver = false;
  let allowedMs = 0;
  // After a blocked event loop, data that has arrived is read first. A late timer counts only the
  // time it was set for.
  const ring = (ms: number) => (): void => {
    setImmediate(() => {
      if (isOver) return;
      allowedMs += ms === paceGraceMs ? 0 : ms;
      const minBytes = (minBytesPerSecond * allowedMs) / 1_000;
      if (bytes() < minBytes) return refuseWith(tooSlow(minBytesPerSecond));
      timer = clock.after(paceEveryMs, ring(paceEveryMs));
    });
  };
  let timer = clock.after(paceGraceMs, ring(paceGraceMs));
  return () => {
    isOver = true;
    timer.cancel();
  };
}

function tooSlow(minBytesPerSecond: number): Error {
  return refuse('timeout', messages.bodyTooSlow(minBytesPerSecond), { timeout_sec: paceGraceMs / 1_000 });
}
