import { setImmediate as turn } from 'node:timers/promises';
import { responseLimits, shapeFault } from '../../wire/json.ts';
import { nextOf, type Receiver } from '../../wire/receiver.ts';
import { maxEventBytes, SseDecoder } from '../../wire/sse.ts';
import type { Bytes, DecodedEvent, StreamDecoder } from '../dialect.ts';
import { errorEventOf } from './errors.ts';
import type { StreamPart } from './types.ts';

/**
 * Reading pauses while decoded events of more bytes than this wait for their reader: back-pressure.
 */
const highWaterBytes = 256 * 1024;

/**
 * Decodes a stream with a package, which reads bytes and returns parts asynchronously. Parts of the
 * same bytes are returned together.
 */
export class SdkStreamDecoder implements StreamDecoder {
  readonly #bytes: Bytes;
  readonly #read: (part: StreamPart) => readonly DecodedEvent[];
  #waiting: DecodedEvent[] = [];
  #over = false;
  /** Why the bytes broke off, so that the reader gets this error and not the package's. */
  #broke: { readonly error: unknown } | null = null;
  /** Bytes read since the package last returned a part and since its parts were last read. */
  #pendingBytes = 0;
  #untakenBytes = 0;
  #stirred = Promise.withResolvers<void>();
  #taken = Promise.withResolvers<void>();
  /** Splits the bytes into events, to check them before the package does; null for other bytes. */
  readonly #events: SseDecoder | null;

  /** `open` passes the body to the package and resolves with its parts. */
  constructor(
    bytes: Bytes,
    how: {
      readonly open: (body: ReadableStream<Uint8Array>) => Promise<ReadableStream<StreamPart>>;
      readonly read: (part: StreamPart) => readonly DecodedEvent[];
      /** Whether the bytes are server-sent events. */
      readonly isSse: boolean;
    },
  ) {
    this.#bytes = bytes;
    this.#read = how.read;
    this.#events = how.isSse ? new SseDecoder() : null;
    void this.#pump(how.open);
  }

  get heldBytes(): number {
    return this.#pendingBytes;
  }

  read(receiver: Receiver<readonly DecodedEvent[]>): void {
    this.#nextEvents()
      .then((events) => receiver.take(events))
      .catch((error: unknown) => receiver.fail(error));
  }

  async #nextEvents(): Promise<readonly DecodedEvent[] | null> {
    while (this.#waiting.length === 0 && !this.#over) {
      await this.#stirred.promise;
      // All parts of the same bytes follow within this turn of the event loop.
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
        this.#pendingBytes = 0;
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
            const events = await this.#next();
            if (events === null) controller.close();
            else for (const event of events) controller.enqueue(event);
          } catch (error) {
            this.#broke = { error };
            // Earlier parts are still inside the package, and an error would overtake them.
            await turn();
            controller.error(error);
          }
        },
      },
      { highWaterMark: 0 },
    );
  }

  /**
   * The next bytes for the package: complete events that it may parse, or any other bytes. An event
   * that was cut off is none.
   */
  async #next(): Promise<readonly Buffer[] | null> {
    const decoder = this.#events;
    for (;;) {
      const bytes = await this.#nextBytes();
      if (bytes === null) return null;
      if (decoder === null) return [bytes];
      const whole = decoder.push(bytes);
      if (whole.length > 0) return whole.map(checked);
      if (decoder.isTooLong) throw new RangeError('an event of the stream is too long');
    }
  }

  async #nextBytes(): Promise<Buffer | null> {
    if (this.#waiting.length > 0 && this.#untakenBytes > highWaterBytes) {
      this.#taken = Promise.withResolvers();
      await this.#taken.promise;
    }
    const bytes = await nextOf(this.#bytes);
    this.#pendingBytes += bytes?.length ?? 0;
    this.#untakenBytes += bytes?.length ?? 0;
    if (this.#pendingBytes > maxEventBytes) throw new RangeError('an event of the stream is too long');
    return bytes;
  }
}

/** An event as bytes. Throws when it would take the package too long to parse. */
function checked(data: string): Buffer {
  if (shapeFault(data, responseLimits) !== null)
    throw new RangeError('an event of the stream has too many parts');
  return Buffer.from(`data: ${data.replaceAll('\n', '\ndata: ')}\n\n`);
}
