import { setImmediate as turn } from 'node:timers/promises';
import { maxEventDataLength } from '../../wire/sse.ts';
import type { Bytes, DecodedEvent, StreamDecoder } from '../dialect.ts';
import { errorEventOf } from './error-event.ts';
import type { StreamPart } from './types.ts';

/** With words of more bytes than these waiting for their reader, nothing is read on until they are taken: back-pressure. */
const highWaterBytes = 256 * 1024;

/**
 * Hears a stream through a package: it is given the bytes and gives parts back, each in its own time. What came of the same bytes
 * is handed on together.
 */
export class SdkStreamDecoder implements StreamDecoder {
  readonly #bytes: Bytes;
  readonly #read: (part: StreamPart) => readonly DecodedEvent[];
  #waiting: DecodedEvent[] = [];
  #over = false;
  /** Why the bytes ended before their end, so that the reader learns that and not what the package makes of it. */
  #broke: { readonly error: unknown } | null = null;
  /** Bytes that were read since the package last said something, and since its words were last taken. */
  #unheardBytes = 0;
  #untakenBytes = 0;
  #stirred = Promise.withResolvers<void>();
  #taken = Promise.withResolvers<void>();

  /** `open` gives the body to the package and resolves with its parts. */
  constructor(
    bytes: Bytes,
    how: {
      readonly open: (body: ReadableStream<Uint8Array>) => Promise<ReadableStream<StreamPart>>;
      readonly read: (part: StreamPart) => readonly DecodedEvent[];
    },
  ) {
    this.#bytes = bytes;
    this.#read = how.read;
    void this.#pump(how.open);
  }

  async next(): Promise<readonly DecodedEvent[] | null> {
    while (this.#waiting.length === 0 && !this.#over) {
      await this.#stirred.promise;
      // Everything that the package makes of the same bytes follows within this turn of the event loop.
      await turn();
      this.#stirred = Promise.withResolvers();
    }
    if (this.#waiting.length > 0) {
      const taken = this.#waiting;
      this.#waiting = [];
      this.#untakenBytes = 0;
      this.#taken.resolve();
      return taken;
    }
    if (this.#broke !== null) throw this.#broke.error;
    return null;
  }

  async #pump(
    open: (body: ReadableStream<Uint8Array>) => Promise<ReadableStream<StreamPart>>,
  ): Promise<void> {
    try {
      const parts = (await open(this.#body())).getReader();
      for (let next = await parts.read(); !next.done; next = await parts.read()) {
        this.#unheardBytes = 0;
        for (const events of this.#read(next.value)) this.#waiting.push(events);
        if (this.#waiting.length > 0) this.#stirred.resolve();
      }
    } catch (error) {
      if (this.#broke === null) this.#waiting.push(errorEventOf(error));
    }
    this.#over = true;
    this.#stirred.resolve();
  }

  #body(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          try {
            const pieces = await this.#next();
            if (pieces === null) controller.close();
            else for (const piece of pieces) controller.enqueue(piece);
          } catch (error) {
            this.#broke = { error };
            // What came before is still on its way through the package, and an error would overtake it.
            await turn();
            controller.error(error);
          }
        },
      },
      { highWaterMark: 0 },
    );
  }

  async #next(): Promise<readonly Buffer[] | null> {
    if (this.#waiting.length > 0 && this.#untakenBytes > highWaterBytes) {
      this.#taken = Promise.withResolvers();
      await this.#taken.promise;
    }
    const pieces = await this.#bytes.next();
    for (const { length } of pieces ?? []) {
      this.#unheardBytes += length;
      this.#untakenBytes += length;
    }
    if (this.#unheardBytes > maxEventDataLength) throw new RangeError('an event of the stream is too long');
    return pieces;
  }
}
