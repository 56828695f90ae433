import type { IncomingMessage } from 'node:http';
import { refuse } from '../errors/catalogue.ts';
import { type Message, messages } from '../errors/messages.ts';
import { ClientDisconnected } from '../errors/request-aborted.ts';
import type { Clock } from '../time/clock.ts';
import { ByteCollector } from '../wire/byte-collector.ts';
import { type JsonFault, JsonGuard } from '../wire/json-guard.ts';
import type { JsonBody } from '../wire/json-parser.ts';
import type { BodyTurns } from './body-rate.ts';

/**
 * The body is larger than the service accepts: the one error that is not JSON (spec:errors/7.5).
 */
export class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge';
}

/** Each piece of a body costs the event loop some 3 µs, whatever its size. */
const freePieces = 2_048;
/** Above `freePieces` the pieces of a body must have this many bytes on average. */
const minPieceBytes = 64;
/** One piece costs as much as this many bytes. */
export const pieceBytes = 400;
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
  /** When it may continue to read; null: at any time. */
  readonly turns: BodyTurns | null;
  /** Called when the body arrives in too many small pieces. */
  readonly onShredded: () => void;
  /** Whether the body has a content encoding: its shape is checked when it is decoded. */
  readonly isEncoded: boolean;
}

/**
 * Whether a body arrived in so many small pieces that it costs more than its bytes: one-byte
 * chunks, for example.
 */
export function isShredded(pieces: number, bytes: number): boolean {
  return pieces > freePieces + bytes / minPieceBytes;
}

/**
 * Calls `onShredded` when the chunks of a body are too small, even before something reads it. Until
 * then the connection is paused: Node would read 64 KiB ahead, 100 ms of one-byte chunks.
 */
export function watchChunks(request: IncomingMessage, onShredded: () => void): void {
  request.socket.pause();
  const { push } = request;
  let chunks = 0;
  let bytes = 0;
  let isOver = false;
  const pushCounted: typeof push = (chunk: Buffer | null, ...more) => {
    if (isOver && chunk !== null) return false;
    chunks += 1;
    bytes += chunk?.length ?? 0;
    isOver = isShredded(chunks, bytes);
    if (isOver) onShredded();
    return push.call(request, chunk, ...more);
  };
  request.push = pushCounted;
}

/** The body length that the request head declares; null when it declares none. */
export function declaredBytes(request: IncomingMessage): number | null {
  const declared = request.headers['content-length'];
  return declared === undefined ? null : Number(declared);
}

/** Whether the request head declares a body larger than `maxBytes`. */
export function declaresTooLarge(request: IncomingMessage, maxBytes: number): boolean {
  return (declaredBytes(request) ?? 0) > maxBytes;
}

/**
 * Collects a JSON body and checks its shape as it arrives, so that a hostile body is rejected after
 * its first packets and never parsed. Throws `BodyTooLarge`, `400 invalid_request`, `408 timeout`
 * for a body that arrives too slowly, `429 rate_limit_exceeded` for one that cannot be read soon,
 * or the signal's reason when that aborts before the end: the client may have disconnected before
 * the call. The rest of a rejected body is not read.
 */
export function readBody(request: IncomingMessage, reading: BodyReading): Promise<JsonBody> {
  const { maxBytes, signal, holding, turns } = reading;
  const guard = new JsonGuard();
  const body = new ByteCollector(declaredBytes(request) ?? maxBytes);
  let pieces = 0;
  return new Promise((resolve, reject) => {
    const stopWatch = watchPace(
      reading,
      () => body.length,
      (refusal) => settle(() => reject(refusal)),
    );
    const settle = (outcome: () => void): void => {
      stopWatch();
      turns?.end();
      request.off('data', onData).off('end', onEnd).off('error', onError);
      if (!request.complete) request.pause();
      signal.removeEventListener('abort', onAbort);
      outcome();
      body.clear();
    };
    const onData = (piece: Buffer): void => {
      pieces += 1;
      const bytes = body.length + piece.length;
      const refusal =
        bytes > maxBytes
          ? new BodyTooLarge()
          : refusalOf(reading.isEncoded ? null : guard.push(piece), pieces, bytes);
      if (isShredded(pieces, bytes)) reading.onShredded();
      if (refusal !== null) {
        settle(() => reject(refusal));
        return;
      }
      const heldBytes = body.heldBytes;
      body.push(piece);
      if (body.heldBytes !== heldBytes) holding(body.heldBytes);
      if (turns === null || turns.spend(piece.length + pieceBytes)) return;
      request.pause();
      const leftBytes = (declaredBytes(request) ?? maxBytes) - bytes;
      turns.wait(leftBytes).then(() => request.resume(), onRefused);
    };
    const onRefused = (refusal: Error): void => settle(() => reject(refusal));
    const onEnd = (): void => {
      const done = (): void =>
        settle(() => resolve({ length: body.length, blocks: body.takeBlocks(), parseMs: guard.parseMs }));
      if (turns === null || turns.spend(guard.weightBytes - body.length)) done();
      else turns.wait(0).then(done, onRefused);
    };
    const onAbort = (): void => settle(() => reject(signal.reason));
    const onError = (): void =>
      settle(() => reject(new ClientDisconnected('the client left while sending the body')));
    if (signal.aborted) {
      stopWatch();
      turns?.end();
      return reject(signal.reason);
    }
    signal.addEventListener('abort', onAbort, { once: true });
    request.on('data', onData).on('end', onEnd).on('error', onError);
  });
}

/** Checks the shape of a body that was decoded. Throws `400 invalid_request` for a hostile one. */
export function assertHarmless(bytes: Buffer): { readonly parseMs: number } {
  const guard = new JsonGuard();
  const fault = guard.push(bytes);
  if (fault !== null) throw refuse('invalid_request', because[fault]);
  return guard;
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

const because: Readonly<Record<JsonFault, Message>> = {
  too_deep: messages.bodyTooDeep(),
  too_many_parts: messages.bodyTooManyValues(),
  too_many_shapes: messages.bodyTooManyNames(),
  too_many_escapes: messages.bodyTooManyEscapes(),
};

/** The refusal of a body with a hostile shape, or in too many pieces. */
function refusalOf(fault: JsonFault | null, pieces: number, bytes: number): Error | null {
  if (fault !== null) return refuse('invalid_request', because[fault]);
  if (!isShredded(pieces, bytes)) return null;
  return refuse('invalid_request', messages.chunksTooSmall(minPieceBytes));
}
