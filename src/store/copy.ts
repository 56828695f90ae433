import { Readable } from 'node:stream';
import type { Client, Connection, Submittable } from 'pg';

/** What the client's connection can do, beside what its types say. */
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

/** Each row comes by itself; what works on them is paid for by the piece. */
const chunkBytes = 64 * 1024;

const lines = (tag: string): number => Number(/(?<!\d)\d+$/.exec(tag)?.[0] ?? 0);

/** The bytes of a `COPY … TO STDOUT`, no faster than they are read. */
export class CopyOut extends Readable implements Submittable {
  readonly #text: string;
  #connection: CopyConnection | null = null;
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** How many rows there were; known when the stream has ended. */
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
    // The parser uses its buffer again.
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

/** Runs `COPY … FROM STDIN` with these bytes and returns how many rows were taken; rejects, and takes none, when they fail to come. */
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
        to.sendCopyFail('the bytes did not come');
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
        // After an error of the server the connection becomes ready again; after its loss it does not.
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
