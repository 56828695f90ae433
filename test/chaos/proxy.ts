import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import type { DatabaseAddress } from '../../src/store/connection.ts';
import { connectTo } from '../harness/database.ts';

/**
 * The fate of a COMMIT. `delivered`: it passes, and so does its response. `unanswered`: the server
 * commits, and the connection is cut before the client gets the response. `unasked`: the connection
 * is cut before the server gets it.
 */
export type Fate = 'delivered' | 'unanswered' | 'unasked';

/** Sits between a gateway and its PostgreSQL, and cuts connections. */
export interface Cutter {
  /** The address to use instead of the database's. */
  readonly address: DatabaseAddress;
  readonly port: number;
  /** Connections cut at a COMMIT so far. */
  readonly cuts: number;
  /** Decides every further COMMIT. */
  onCommit(decide: () => Fate): void;
  /** Cuts every connection and accepts none until `up`. */
  down(): void;
  /**
   * From now on nothing passes and nothing is closed: connections are accepted without a response.
   * Earlier and meanwhile opened ones stay dead permanently, and the server keeps its side of them,
   * as when a firewall has dropped its state.
   */
  hole(): void;
  /** Ends what `down`, `hole` and `delay` began. */
  up(): void;
  /** Delays every response of the server, milliseconds. */
  delay(ms: number): void;
  close(): Promise<void>;
}

/** Starts a proxy in front of the server at `target`. */
export async function startCutter(target: DatabaseAddress): Promise<Cutter> {
  const open = new Set<Socket>();
  let decide: () => Fate = () => 'delivered';
  let cuts = 0;
  let isUp = true;
  let isHole = false;
  let delayMs = 0;
  const lost = new Set<Socket>();
  const swallowed = new Set<() => void>();
  const server = createServer({ noDelay: true }, (client) => {
    if (!isUp) return void client.resetAndDestroy();
    const upstream = connectTo(target);
    let isDead = isHole;
    const cut = (): void => {
      client.destroy();
      open.delete(client);
      if (isDead) return;
      upstream.destroy();
      swallowed.delete(swallow);
    };
    const swallow = (): void => {
      isDead = true;
      lost.add(upstream);
    };
    if (isHole) swallow();
    else swallowed.add(swallow);
    open.add(client);
    for (const socket of [client, upstream]) socket.on('error', cut).on('close', cut);
    let fate: Fate = 'delivered';
    upstream.on('data', (bytes) => {
      if (isDead) return;
      if (fate !== 'delivered') cut();
      else if (delayMs === 0) client.write(bytes);
      else setTimeout(() => isDead || client.write(bytes), delayMs);
    });
    const messages = new Messages();
    client.on('data', (bytes) => {
      if (isDead) return;
      if (messages.hasCommit(bytes)) fate = decide();
      if (fate !== 'delivered') cuts += 1;
      if (fate === 'unasked') cut();
      else upstream.write(bytes);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('no port');
  const drop = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    address: { ...target, host: '127.0.0.1', port: bound.port },
    port: bound.port,
    get cuts() {
      return cuts;
    },
    onCommit: (decider) => {
      decide = decider;
    },
    down: () => {
      isUp = false;
      drop();
    },
    hole: () => {
      isHole = true;
      for (const swallow of swallowed) swallow();
      swallowed.clear();
    },
    up: () => {
      isUp = true;
      isHole = false;
      delayMs = 0;
    },
    delay: (ms) => {
      delayMs = ms;
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      drop();
      for (const socket of lost) socket.destroy();
      await closed;
    },
  };
}

/**
 * Reads what a client sends: a start-up message without a type, then messages of type, length,
 * body.
 */
class Messages {
  #rest: Buffer = Buffer.alloc(0);
  #isStarted = false;

  /** Whether the bytes complete a plain query that is COMMIT. */
  hasCommit(bytes: Buffer | string): boolean {
    this.#rest = Buffer.concat([this.#rest, Buffer.from(bytes)]);
    let found = false;
    for (;;) {
      const head = this.#isStarted ? 1 : 0;
      if (this.#rest.length < head + 4) return found;
      const end = head + this.#rest.readUInt32BE(head);
      if (this.#rest.length < end) return found;
      if (this.#isStarted && this.#rest.toString('latin1', 0, 1) === 'Q') {
        if (this.#rest.toString('latin1', 5, end - 1) === 'COMMIT') found = true;
      }
      this.#isStarted = true;
      this.#rest = this.#rest.subarray(end);
    }
  }
}
