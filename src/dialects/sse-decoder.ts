import { SseDecoder } from '../wire/sse.ts';
import type { Bytes, DecodedEvent, StreamDecoder } from './dialect.ts';

/** Decodes a stream of independent server-sent events. */
export class SseStreamDecoder implements StreamDecoder {
  readonly #bytes: Bytes;
  readonly #read: (data: string) => DecodedEvent;
  readonly #decoder = new SseDecoder();
  #ended = false;

  constructor(bytes: Bytes, read: (data: string) => DecodedEvent) {
    this.#bytes = bytes;
    this.#read = read;
  }

  get heldBytes(): number {
    return this.#decoder.heldBytes;
  }

  next(): Promise<readonly DecodedEvent[] | null> {
    return this.#ended
      ? Promise.resolve(null)
      : this.#bytes.next().then((pieces) => this.#decodeNext(pieces));
  }

  #decodeNext(pieces: readonly Buffer[] | null): readonly DecodedEvent[] {
    const events: DecodedEvent[] = [];
    if (pieces === null) {
      this.#ended = true;
      for (const data of this.#decoder.end()) events.push(this.#read(data));
      return events;
    }
    for (const piece of pieces) for (const data of this.#decoder.push(piece)) events.push(this.#read(data));
    // Last: the events before it are complete.
    if (this.#decoder.isTooLong) events.push({ kind: 'malformed', reason: 'an event that is too long' });
    return events;
  }
}
