import type { Server, Socket } from 'node:net';
import type { Clock } from '../time/clock.ts';

/**
 * After a body in too many small chunks, the connections of its client are delayed for this long.
 */
const penaltyMs = 10_000;
/**
 * One connection is read per interval: the HTTP parser may need 20 ms for the first packet of such
 * a body, and cannot be interrupted.
 */
const everyMs = 1_000;
/** A connection that would wait longer is rejected. */
const maxWaitMs = 5_000;

/** Clients whose new connections are read one at a time, with a pause in between. */
export class DelayedClients {
  readonly #clock: Clock;
  readonly #clients = new Map<string, { untilMs: number; nextMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Delays the connections of a client from now on. */
  add(client: string): void {
    const nowMs = this.#clock.monotonic();
    for (const [other, { untilMs }] of this.#clients) if (untilMs < nowMs) this.#clients.delete(other);
    const nextMs = this.#clients.get(client)?.nextMs ?? nowMs;
    this.#clients.set(client, { untilMs: nowMs + penaltyMs, nextMs });
  }

  /** Milliseconds until a new connection of the client may be read; null when it is rejected. */
  take(client: string): number | null {
    const delayed = this.#clients.get(client);
    const nowMs = this.#clock.monotonic();
    if (delayed === undefined || delayed.untilMs < nowMs) return 0;
    const atMs = Math.max(nowMs, delayed.nextMs + everyMs);
    if (atMs - nowMs > maxWaitMs) return null;
    delayed.nextMs = atMs;
    return atMs - nowMs;
  }
}

/** What happens to new connections. */
export interface ConnectionDelay {
  readonly clock: Clock;
  /** Milliseconds until a connection of this peer may be read; null when it is rejected. */
  readonly take: (peer: string) => number | null;
  /** Responds to a connection and ends it. */
  readonly refuse: (socket: Socket) => void;
  /** Connections that are not read yet: the HTTP server does not know them. */
  readonly held: Set<Socket>;
}

/**
 * Passes each connection to the existing listeners when it may be read. Must be called before the
 * server listens.
 */
export function delayConnections(server: Server, { clock, take, refuse, held }: ConnectionDelay): void {
  const listeners = server.listeners('connection') as ((socket: Socket) => void)[];
  server.removeAllListeners('connection');
  server.on('connection', (socket) => {
    const begin = (): void => {
      for (const listener of listeners) listener.call(server, socket);
    };
    const waitMs = take(socket.remoteAddress ?? '');
    if (waitMs === 0) return begin();
    socket.on('error', () => {});
    if (waitMs === null) return refuse(socket);
    held.add(socket);
    const timer = clock.after(waitMs, () => {
      held.delete(socket);
      begin();
    });
    socket.once('close', () => {
      held.delete(socket);
      timer.cancel();
    });
  });
}
