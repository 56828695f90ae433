import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request of an agent with its response, as relayed. */
export interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly status: number;
  readonly response: string;
}

/** Sits between an agent and Naru, relays every byte as it arrives, and stores it. */
export interface Tap {
  /** The base URL to configure in the agent. */
  readonly url: string;
  /** Requests whose responses have ended, in the order of their ends. */
  readonly exchanges: readonly Exchange[];
  close(): Promise<void>;
}

/** Taps the gateway at `origin`, `http://127.0.0.1:PORT`. */
export async function startTap(origin: string): Promise<Tap> {
  const exchanges: Exchange[] = [];
  const server = createServer((sent, reply) => {
    const { method = '', url: path = '', headers } = sent;
    const bodyParts: Buffer[] = [];
    const responseParts: Buffer[] = [];
    const onward = request(`${origin}${path}`, { method, headers }, (response) => {
      reply.writeHead(response.statusCode ?? 0, response.headers);
      response.on('data', (part: Buffer) => responseParts.push(part));
      response.on('end', () =>
        exchanges.push({
          method,
          path,
          headers,
          body: Buffer.concat(bodyParts).toString(),
          status: response.statusCode ?? 0,
          response: Buffer.concat(responseParts).toString(),
        }),
      );
      response.pipe(reply);
    });
    // What breaks on one side breaks on the other.
    onward.on('error', () => reply.destroy());
    reply.on('close', () => onward.destroy());
    sent.on('data', (part: Buffer) => bodyParts.push(part));
    sent.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`,
    exchanges,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
