import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { type Clock, systemClock } from '../../src/time/clock.ts';
import { type HangUp, type Received, serveConnection } from './upstream-connection.ts';
import type { UpstreamRequest } from './upstream-openai.ts';
import { type Reply, reply } from './upstream-reply.ts';

/** A scripted upstream, on a free loopback port if no address is stated. */
export interface Upstream {
  /** The base URL to configure, `http://127.0.0.1:PORT/v1`. */
  readonly url: string;
  readonly port: number;
  /** Requests in the order their heads arrived. */
  readonly requests: readonly Received[];
  /** Connections now open, and all there have been. */
  readonly openSockets: number;
  readonly connections: number;
  /** Connections that the client closed, in order. */
  readonly hangUps: readonly HangUp[];
  /** What the client did against HTTP. Empty unless it is broken. */
  readonly faults: readonly string[];
  /** Replies for the next requests, in order, before those of `always` or `respond`. */
  next(...replies: readonly Reply[]): void;
  /** The reply when none is queued; it replaces `respond` and the earlier `always`. */
  always(one: Reply): void;
  /** Chooses the reply by the whole request when none is queued. */
  respond(choose: (sent: UpstreamRequest) => Reply): void;
  /** Replies queued and not yet used. */
  readonly unused: number;
  /** The n-th request (from 1) once its reply begins; rejects when the upstream closes first. */
  request(n: number): Promise<Received>;
  /** Drops all connections, pending responses included, and the port. */
  close(): Promise<void>;
}

/** Starts an upstream that responds `Hello from upstream.`, streamed on request, by default. */
export async function startUpstream(
  options: { readonly clock?: Clock; readonly host?: string; readonly port?: number } = {},
): Promise<Upstream> {
  const { host = '127.0.0.1' } = options;
  const clock = options.clock ?? systemClock;
  const queue: Reply[] = [];
  const requests: Received[] = [];
  const hangUps: HangUp[] = [];
  const faults: string[] = [];
  const sockets = new Set<Socket>();
  const waiting = new Map<number, PromiseWithResolvers<Received>>();
  let connections = 0;
  let choose: (sent: UpstreamRequest) => Reply = () => reply.chat('Hello from upstream.');
  let standing: Reply | null = null;

  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    connections += 1;
    const connection = connections;
    socket.once('close', () => sockets.delete(socket));
    serveConnection(socket, {
      clock,
      connection,
      arrived: (received) => requests.push(received),
      responding: (received) => wait(received.n).resolve(received),
      hungUp: (hangUp) => hangUps.push(hangUp),
      fault: (message) => faults.push(message),
      earlyReply: () => {
        const candidate = queue[0] ?? standing;
        if (candidate?.early !== true) return null;
        return queue.shift() ?? candidate;
      },
      reply: (sent) => {
        const queued = queue.shift();
        const isReused = requests.filter((request) => request.connection === connection).length > 1;
        // A request that a stale connection lost is repeated on a new one, and is dropped there
        // too. A reply that is not from the queue is chosen for it again.
        if (queued?.drops && isReused) queue.unshift(queued);
        return queued ?? standing ?? choose(sent);
      },
    });
  });
  server.listen(options.port ?? 0, host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');

  function wait(n: number): PromiseWithResolvers<Received> {
    const known = waiting.get(n) ?? Promise.withResolvers<Received>();
    known.promise.catch(() => {}); // Closing rejects it also without a waiting caller.
    waiting.set(n, known);
    return known;
  }

  return {
    url: `http://${host}:${address.port}/v1`,
    port: address.port,
    requests,
    hangUps,
    faults,
    get openSockets() {
      return sockets.size;
    },
    get connections() {
      return connections;
    },
    get unused() {
      return queue.length;
    },
    next: (...replies) => void queue.push(...replies),
    always: (one) => {
      standing = one;
    },
    respond: (chooser) => {
      standing = null;
      choose = chooser;
    },
    request: (n) => wait(n).promise,
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      for (const [n, request] of waiting) request.reject(new Error(`closed before request ${n}`));
      await closed;
    },
  };
}

export { gate } from './upstream-actions.ts';
export { usage } from './upstream-openai.ts';
export { oddUsages, piece, reply } from './upstream-reply.ts';
