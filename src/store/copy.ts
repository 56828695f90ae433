import { Readable } from 'node:stream';
import type { Client, Connection, Submittable } from 'pg';

/** The members of the client's connection that its types lack. */
interface CopyConnection {
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
  sendCopyFail(message: string): void;
  readonly stream: {
    readonly writableNeedDrain: boolean;
    pause(): void;
    resume(): void;
    once(event: 'drain' | 'close', received: () => void): void;
    off(event: 'drain' | 'close', received: () => void): void;
  };
}

/**
 * The server sends each row by itself; chunks are joined because each one costs time downstream.
 */
const chunkBytes = 64 * 1024;

const lines = (tag: string): number => Number(/(?<!\d)\d+$/.exec(tag)?.[0] ?? 0);

/** The bytes of a `COPY … TO STDOUT`, with backpressure. */
export class CopyOut extends Readable implements Submittable {
  readonly #text: string;
  #connection: CopyConnection | null = null;
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** The number of rows; known when the stream has ended. */
  rows = 0;

  constructor(client: Client, text: string) {
    super();
    this.#text = text;
    client.query(this);
  }

  submit(connection: Connection): void {
    this.#connection = connection as unknown as CopyConnection;
    this.#connection.query(this.#text);
  }

  override _read(): void {
    this.#connection?.stream.resume();
  }

  handleCopyData(message: { readonly chunk: Buffer }): void {
    // The parser reuses its buffer.
    this.#pieces.push(Buffer.from(message.chunk));
    this.#bytes += message.chunk.length;
    if (this.#bytes >= chunkBytes && !this.#flush()) this.#connection?.stream.pause();
  }

  handleCommandComplete(message: { readonly text: string }): void {
    this.rows = lines(message.text);
  }

  handleReadyForQuery(): void {
    if (this.#bytes > 0) this.#flush();
    this.push(null);
  }

  #flush(): boolean {
    const joined = Buffer.concat(this.#pieces, this.#bytes);
    this.#pieces = [];
    this.#bytes = 0;
    return this.push(joined);
  }

  handleError(error: Error): void {
    this.#connection?.stream.resume();
    this.destroy(error);
  }
}

/**
 * Runs `COPY … FROM STDIN` with these bytes and returns the number of rows; rejects, and stores
 * none, when the source fails.
 */
export function copyIn(client: Client, text: string, source: AsyncIterable<Buffer>): Promise<number> {
  return new Promise((resolve, reject) => {
    let connection: CopyConnection | null = null;
    let rows = 0;
    let failure: unknown = null;
    const feed = async (to: CopyConnection): Promise<void> => {
      try {
        for await (const chunk of source) {
          if (failure !== null) return;
          to.sendCopyFromChunk(chunk);
          if (to.stream.writableNeedDrain) await drained(to);
        }
        if (failure === null) to.endCopyFrom();
      } catch (thrown) {
        failure ??= thrown;
        to.sendCopyFail('the source failed');
      }
    };
    const query = {
      submit(given: Connection) {
        connection = given as unknown as CopyConnection;
        connection.query(text);
      },
      handleCopyInResponse() {
        if (connection !== null) void feed(connection);
      },
      handleCommandComplete(message: { readonly text: string }) {
        rows = lines(message.text);
      },
      handleReadyForQuery() {
        if (failure === null) resolve(rows);
        else reject(failure);
      },
      handleError(error: Error) {
        // After an error of the server the connection becomes ready again; after its loss it does
        // not.
        failure ??= error;
        reject(failure);
      },
    };
    client.query(query);
  });
}

function drained({ stream }: CopyConnection): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      stream.off('drain', go);
      stream.off('close', go);
      resolve();
    };
    stream.once('drain', go);
    stream.once('close', go);
  });
}
