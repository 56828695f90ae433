import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';

/**
 * What a misbehaving upstream can do on one connection. Every method throws `Gone` once the peer
 * has disconnected.
 */
export interface Wire {
  /** Whether the current request wants a stream; false until its body has arrived. */
  readonly stream: boolean;
  /**
   * One write, accepted by the kernel; then two turns of the event loop, so that a peer in this
   * process reads it separately.
   */
  send(bytes: string | Buffer): Promise<void>;
  /** Writes of `size` bytes, `everyMs` (scaled) after each; 0: as fast as the peer reads. */
  drip(bytes: string | Buffer, size?: number, everyMs?: number): Promise<void>;
  /** Waits this long, times the scale of the matrix. */
  wait(ms: number): Promise<void>;
  /** Ends our side; the connection counts as busy until the peer has closed its own. */
  fin(): void;
  rst(): void;
  /** Stays silent until the peer disconnects. */
  hang(): Promise<never>;
}

/** What the upstream does with a request, or with a connection when the fault precedes any. */
export type Act = (wire: Wire) => Promise<void> | void;

/**
 * When an act begins: at the connection, at the end of a request's head, or when its body has
 * arrived.
 */
export type Moment = 'accept' | 'head' | 'request';

/** A raw TCP upstream of one fault. */
export interface FaultySite {
  readonly port: number;
  /** How many connections there have been. */
  readonly connections: number;
  /** Requests whose head arrived, by the first segment of their path. */
  readonly requests: ReadonlyMap<string, number>;
  /** Everything that was received, at most 1 MiB of each connection. */
  readonly received: readonly Buffer[];
  /** Connections that are neither closed nor idle behind a complete response. */
  readonly busy: number;
  close(): Promise<void>;
}

class Disconnected extends Error {}

const receivedMost = 1024 * 1024;

/** Starts a site; `scale` stretches every wait of its act. */
export async function startSite(act: Act, moment: Moment = 'request', scale = 1): Promise<FaultySite> {
  const sockets = new Set<Socket>();
  const busy = new Set<Socket>();
  const requests = new Map<string, number>();
  const received: Buffer[][] = [];
  const server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    const bytes: Buffer[] = [];
    received.push(bytes);
    const gone = new AbortController();
    const over = (): void => {
      gone.abort(new Disconnected());
      sockets.delete(socket);
      busy.delete(socket);
    };
    socket.on('error', () => {}).once('close', over);
    socket.once('end', () => {
      gone.abort(new Disconnected());
      socket.end();
    });
    const perform = async (stream: boolean): Promise<void> => {
      busy.add(socket);
      const wire = new SocketWire(socket, gone.signal, stream, scale);
      try {
        await act(wire);
      } catch (error) {
        if (!(error instanceof Disconnected)) throw error;
      }
      if (!wire.finished) busy.delete(socket);
    };
    if (moment === 'accept') void perform(false);
    let kept = 0;
    let inbox = Buffer.alloc(0);
    let isHeadSeen = false;
    socket.on('data', (data) => {
      const piece = data as Buffer;
      if (kept < receivedMost) bytes.push(piece);
      kept += piece.length;
      inbox = Buffer.concat([inbox, piece]);
      for (;;) {
        const headEnd = inbox.indexOf('\r\n\r\n');
        if (headEnd === -1) return;
        const head = inbox.toString('latin1', 0, headEnd);
        if (!isHeadSeen) {
          isHeadSeen = true;
          const position = head.split('/')[1] ?? '';
          requests.set(position, (requests.get(position) ?? 0) + 1);
          if (moment === 'head') void perform(false);
        }
        const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
        if (inbox.length < headEnd + 4 + length) return;
        const body = inbox.toString('latin1', headEnd + 4, headEnd + 4 + length);
        inbox = inbox.subarray(headEnd + 4 + length);
        isHeadSeen = false;
        if (moment === 'request') void perform(body.includes('"stream":true'));
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    requests,
    get connections() {
      return received.length;
    },
    get received() {
      return received.map((pieces) => Buffer.concat(pieces));
    },
    get busy() {
      return busy.size;
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

class SocketWire implements Wire {
  readonly stream: boolean;
  /** Whether our side of the connection is at its end. */
  finished = false;
  readonly #socket: Socket;
  readonly #gone: AbortSignal;
  readonly #scale: number;

  constructor(socket: Socket, gone: AbortSignal, stream: boolean, scale: number) {
    this.#socket = socket;
    this.#gone = gone;
    this.stream = stream;
    this.#scale = scale;
  }

  async send(bytes: string | Buffer): Promise<void> {
    this.#gone.throwIfAborted();
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.#gone.removeEventListener('abort', done);
        resolve();
      };
      this.#gone.addEventListener('abort', done, { once: true });
      this.#socket.write(typeof bytes === 'string' ? Buffer.from(bytes) : bytes, done);
    });
    await turn();
    await turn();
    this.#gone.throwIfAborted();
  }

  async drip(bytes: string | Buffer, size = 1, everyMs = 0): Promise<void> {
    const all = typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
    for (let at = 0; at < all.length; at += size) {
      await this.send(all.subarray(at, at + size));
      if (everyMs > 0) await this.wait(everyMs);
    }
  }

  wait(ms: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        clearTimeout(timer);
        reject(new Disconnected());
      };
      const timer = setTimeout(() => {
        this.#gone.removeEventListener('abort', stop);
        resolve();
      }, ms * this.#scale);
      if (this.#gone.aborted) stop();
      else this.#gone.addEventListener('abort', stop, { once: true });
    });
  }

  fin(): void {
    this.finished = !this.#socket.destroyed;
    this.#socket.end();
  }

  rst(): void {
    this.finished = !this.#socket.destroyed;
    this.#socket.resetAndDestroy();
  }

  hang(): Promise<never> {
    this.finished = !this.#socket.destroyed;
    return new Promise((_resolve, reject) => {
      const stop = (): void => reject(new Disconnected());
      if (this.#gone.aborted) stop();
      else this.#gone.addEventListener('abort', stop, { once: true });
    });
  }
}
