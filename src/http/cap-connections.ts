import type { Server, Socket } from 'node:net';
import { limitedAs } from './client-ip.ts';

/** How many connections one client may have, and what becomes of another. */
export interface ConnectionCap {
  /** Asked each time: it may change. */
  readonly max: () => number;
  /** Null: connections from there are not counted, since a proxy has them for many clients. */
  readonly clientOf: (peer: string) => string | null;
  /** Answers and ends a connection above the cap. */
  readonly refuse: (socket: Socket) => void;
}

/** Keeps one client from taking all connections that there can be. Must be called before the server listens. */
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
