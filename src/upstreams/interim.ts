import type { Socket } from 'node:net';

/** Interim responses that are dropped before one final response. */
const maxInterimResponses = 100;
const maxInterimHeadBytes = 64 * 1024;
/** `HTTP/1.1 100 `: the bytes needed to know a status, and that it ends. */
const statusLineBytes = 13;
const headEnd = Buffer.from('\r\n\r\n');
const noBytes = Buffer.alloc(0);

/**
 * Drops interim responses (1xx) from a connection: an upstream may send them unasked (RFC 9110,
 * 15.2), but the HTTP client treats `100 Continue` as the end of the connection. `101` stays,
 * because no request offers to switch protocols.
 */
export class InterimFilter {
  readonly #socket: Socket;
  /** The bytes of a response whose status is not known yet; null while bytes pass unchanged. */
  #held: Buffer | null = null;
  #dropped = 0;
  #isAwaited = true;
  readonly #onExtra: () => void;

  /** `onExtra` is called for bytes that arrive between two responses. */
  constructor(socket: Socket, onExtra: () => void) {
    this.#socket = socket;
    this.#onExtra = onExtra;
    const read = socket.read.bind(socket) as (size?: number) => Buffer | null;
    const readFiltered = (size?: number): Buffer | null => this.#filter(read(size));
    socket.read = readFiltered;
  }

  /** A request is about to be sent: the next bytes start a response. */
  expectResponse(): void {
    this.#isAwaited = true;
    this.#held = noBytes;
    this.#dropped = 0;
  }

  /** A response has ended. */
  responseEnded(): void {
    this.#isAwaited = false;
  }

  #filter(bytes: Buffer | null): Buffer | null {
    if (bytes !== null && !this.#isAwaited) {
      this.#onExtra();
      this.#socket.destroy(new Error('bytes behind the end of a response'));
      return null;
    }
    if (this.#held === null || bytes === null) return bytes;
    let held = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes]);
    for (;;) {
      if (held.length < statusLineBytes) return this.#keep(held);
      if (!isInterim(held)) return this.#pass(held);
      const end = held.indexOf(headEnd);
      if (end === -1) return held.length > maxInterimHeadBytes ? this.#pass(held) : this.#keep(held);
      held = held.subarray(end + headEnd.length);
      this.#dropped += 1;
      if (this.#dropped > maxInterimResponses) {
        this.#socket.destroy(new Error('too many interim responses'));
        return null;
      }
    }
  }

  #keep(held: Buffer): null {
    this.#held = held;
    return null;
  }

  #pass(held: Buffer): Buffer {
    this.#held = null;
    return held;
  }
}

/** Whether the bytes begin with `HTTP/1.0 1xx` or `HTTP/1.1 1xx`, and are not `101`. */
function isInterim(bytes: Buffer): boolean {
  // Nearly every response is final, and its first digit says so.
  if (bytes[9] !== 0x31) return false;
  const [, status = ''] =
    /^HTTP\/1\.[01] (1\d\d)[ \r\n]$/.exec(bytes.toString('latin1', 0, statusLineBytes)) ?? [];
  return status !== '' && status !== '101';
}
