import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import type { DatabaseAddress } from '../../src/store/connection.ts';
import { connectTo } from './database.ts';

/**
 * One TCP address that leads to one server after another, as a virtual address moves in a failover.
 */
export interface MovableAddress {
  readonly url: string;
  /** Ends every connection; further ones lead to this server, or are refused while it is null. */
  moveTo(target: DatabaseAddress | null): void;
  close(): Promise<void>;
}

export async function openMovableAddress(first: DatabaseAddress): Promise<MovableAddress> {
  let target: DatabaseAddress | null = first;
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (client) => {
    if (target === null) {
      client.destroy();
      return;
    }
    const inner = connectTo(target);
    const end = (): void => {
      for (const socket of [client, inner]) {
        socket.destroy();
        sockets.delete(socket);
      }
    };
    for (const socket of [client, inner]) {
      sockets.add(socket);
      socket.on('error', end).on('close', end);
    }
    client.pipe(inner);
    inner.pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('no port');
  const endAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `postgres://naru@127.0.0.1:${bound.port}/postgres?sslmode=disable`,
    moveTo(next) {
      target = next;
      endAll();
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      endAll();
      await closed;
    },
  };
}
