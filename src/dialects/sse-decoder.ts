import { SseDecoder } from '../wire/sse.ts';
import type { Bytes, Heard, Hearing } from './dialect.ts';

/** Hears a stream of server-sent events, each of which means something by itself. */
export class EventHearing implements Hearing {
  readonly #bytes: Bytes;
  readonly #read: (data: string) => Heard;
  readonly #decoder = new SseDecoder();
  #ended = false;

  constructor(bytes: Bytes, read: (data: string) => Heard) {
    this.#bytes = bytes;
    this.#read = read;
  }

  next(): Promise<readonly Heard[] | null> {
    return this.#ended ? Promise.resolve(null) : this.#bytes.next().then((pieces) => this.#hear(pieces));
  }

  #hear(pieces: readonly Buffer[] | null): readonly Heard[] {
    const heard: Heard[] = [];
    if (pieces === null) {
      this.#ended = true;
      for (const data of this.#decoder.end()) heard.push(this.#read(data));
      return heard;
    }
    for (const piece of pieces) for (const data of this.#decoder.push(piece)) heard.push(this.#read(data));
    // Last: the events before it are whole.
    if (this.#decoder.isTooLong) heard.push({ kind: 'garbage', reason: 'an event that is too long' });
    return heard;
  }
}
