import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import type { DatabaseAddress } from '../../src/store/connection.ts';
import { connectTo } from '../harness/database.ts';

/** Sits between a gateway and its PostgreSQL and drops every notification: NOTIFY never arrives. */
export interface DeafProxy {
  readonly address: DatabaseAddress;
  /** Notifications swallowed so far. */
  readonly swallowed: number;
  close(): Promise<void>;
}

const notification = 'A'.charCodeAt(0);

export async function startDeafProxy(target: DatabaseAddress): Promise<DeafProxy> {
  const sockets = new Set<Socket>();
  let swallowed = 0;
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connectTo(target);
    const end = (): void => {
      client.destroy();
      upstream.destroy();
      sockets.delete(client);
    };
    sockets.add(client);
    for (const socket of [client, upstream]) socket.on('error', end).on('close', end);
    client.pipe(upstream);
    let rest: Buffer = Buffer.alloc(0);
    upstream.on('data', (bytes: Buffer) => {
      rest = Buffer.concat([rest, bytes]);
      for (;;) {
        if (rest.length < 5) return;
        const end = 1 + rest.readUInt32BE(1);
        if (rest.length < end) return;
        if (rest[0] === notification) swallowed += 1;
        else client.write(rest.subarray(0, end));
        rest = rest.subarray(end);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('no port');
  return {
    address: { ...target, host: '127.0.0.1', port: bound.port },
    get swallowed() {
      return swallowed;
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
