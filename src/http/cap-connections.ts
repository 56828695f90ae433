import type { Server, Socket } from 'node:net';
import { limitedAs } from './client-ip.ts';

/** How many connections one client may have, and what happens to the next one. */
export interface ConnectionCap {
  /** Called each time, because it may change. */
  readonly max: () => number;
  /** Null: the peer's connections are not counted, because it is a proxy with many clients. */
  readonly clientOf: (peer: string) => string | null;
  /** Responds to a connection above the cap and ends it. */
  readonly refuse: (socket: Socket) => void;
}

/**
 * Prevents one client from taking all available connections. Must be called before the server
 * listens.
 */
export function capConnections(server: Server, { max, clientOf, refuse }: ConnectionCap): void {
  const open = new Map<string, number>();
  server.on('connection', (socket) => {
    const peer = clientOf(socket.remoteAddress ?? '');
    if (peer === null) return;
    const client = limitedAs(peer);
    const count = (open.get(client) ?? 0) + 1;
    open.set(client, count);
    socket.once('close', () => {
      const left = (open.get(client) ?? 1) - 1;
      if (left === 0) open.delete(client);
      else open.set(client, left);
    });
    if (count > max()) refuse(socket);
  });
}
