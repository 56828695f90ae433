import type { Socket } from 'node:net';
import { type buildConnector, Client, type Dispatcher, errors } from 'undici';

/** Opens a connection. */
export type Connector = buildConnector.connector;

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
 * Creates the clients of a pool, each with one connection at a time, made with `options.connect`,
 * that is passed to `ConnectionUser`s. `onExtra` is called when an upstream sent bytes between two
 * responses.
 */
export function clientFactory(onExtra: () => void): (origin: URL | string, options: object) => Client {
  return (origin, options) => {
    const { connect: connector } = options as { readonly connect: Connector };
    const connection = new ClientConnection();
    const connect: Connector = (target, done) =>
      connector(target, (...result) => {
        const [error, socket] = result;
        if (error === null) connection.opened(socket);
        done(...result);
      });
    const client = new TrackedClient(origin, { ...options, connect }, connection);
    client.on('disconnect', (_origin, _targets, error) => {
      if (connection.isIdle && isExtra(error)) onExtra();
    });
    return client;
  };
}

class TrackedClient extends Client {
  readonly #connection: Connection;

  constructor(origin: URL | string, options: Client.Options, connection: Connection) {
    super(origin, options);
    this.#connection = connection;
  }

  override dispatch(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if ('connection' in handler) (handler as ConnectionUser).connection = this.#connection;
    return super.dispatch(request, handler);
  }
}

/** How undici ends a connection on which bytes arrive that belong to no request. */
function isExtra(error: Error): boolean {
  return error instanceof errors.HTTPParserError || error.message === 'bad response';
}

class ClientConnection implements Connection {
  /** Whether no response is awaited. */
  isIdle = true;
  #socket: Socket | null = null;
  #requests = 0;

  opened(socket: Socket): void {
    this.#socket = socket;
    this.#requests = 0;
  }

  begin(): Sending {
    const socket = this.#socket;
    const readBytes = socket?.bytesRead ?? 0;
    const isReused = this.#requests > 0;
    this.#requests += 1;
    this.isIdle = false;
    return {
      isStale: () => isReused && socket?.bytesRead === readBytes,
      ended: () => {
        this.isIdle = true;
      },
    };
  }
}
