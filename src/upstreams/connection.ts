import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import buildConnector from 'undici/lib/core/connect.js';
import Client from 'undici/lib/dispatcher/client.js';
import { InterimFilter } from './interim.ts';

/** The connection that a request is sent on. */
export interface Connection {
  /** Called when a request is about to be sent. */
  begin(): Sending;
}

/** One request on a connection. */
export interface Sending {
  /**
   * Whether the connection was reused and nothing has arrived on it since this request was sent.
   */
  readonly isStale: () => boolean;
  /** Called when its response has ended. */
  readonly ended: () => void;
}

/** A request handler that receives its connection before the request is sent. */
export interface ConnectionUser extends Dispatcher.DispatchHandler {
  connection: Connection | null;
}

/**
 * Creates the clients of a pool, each with one connection at a time that is passed to
 * `ConnectionUser`s. `onExtra` is called when an upstream sent bytes between two responses.
 */
export function clientFactory(
  connectTimeoutMs: number,
  onExtra: () => void,
): (origin: URL | string, options: object) => Client {
  const connector = buildConnector({ timeout: connectTimeoutMs });
  return (origin, options) => {
    const connection = new ClientConnection(onExtra);
    const client = new Client(origin, {
      ...options,
      connect: (target, done) =>
        connector(target, (...result) => {
          const [error, socket] = result;
          if (error === null) connection.opened(socket);
          done(...result);
        }),
    });
    const dispatch = client.dispatch.bind(client);
    const dispatchOn: Client['dispatch'] = (request, handler) => {
      if ('connection' in handler) (handler as ConnectionUser).connection = connection;
      return dispatch(request, handler);
    };
    client.dispatch = dispatchOn;
    return client;
  };
}

class ClientConnection implements Connection {
  #socket: Socket | null = null;
  #filter: InterimFilter | null = null;
  #requests = 0;
  readonly #onExtra: () => void;

  constructor(onExtra: () => void) {
    this.#onExtra = onExtra;
  }

  opened(socket: Socket): void {
    this.#socket = socket;
    this.#requests = 0;
    // HTTP/2 has its own frames for interim responses.
    const isHttp2 = 'alpnProtocol' in socket && socket.alpnProtocol === 'h2';
    this.#filter = isHttp2 ? null : new InterimFilter(socket, this.#onExtra);
  }

  begin(): Sending {
    const socket = this.#socket;
    const readBytes = socket?.bytesRead ?? 0;
    const isReused = this.#requests > 0;
    this.#requests += 1;
    const filter = this.#filter;
    filter?.expectResponse();
    return {
      isStale: () => isReused && socket?.bytesRead === readBytes,
      ended: () => filter?.responseEnded(),
    };
  }
}
