import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/**
 * A port that leads to the server of the present test file. So all files of a process have the same
 * origins, and a browser keeps the files and the compiled scripts of the pages between them. The
 * host is a name, because a browser makes no passkey for an IP address.
 */
export class Relay {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #targetPort = 0;

  private constructor() {
    this.#server = createServer((socket) => this.#pass(socket));
  }

  static async start(): Promise<Relay> {
    const relay = new Relay();
    relay.#server.listen(0, '127.0.0.1');
    await once(relay.#server, 'listening');
    return relay;
  }

  get origin(): string {
    return `http://localhost:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Leads to another server from now on; connections to the one before end. */
  lead(to: string): void {
    this.#endConnections();
    this.#targetPort = Number(new URL(to).port);
  }

  close(): void {
    this.#server.close();
    this.#endConnections();
  }

  #pass(socket: Socket): void {
    const onward = connect(this.#targetPort, '127.0.0.1');
    for (const [one, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      this.#sockets.add(one);
      one.setNoDelay(true);
      one.pipe(other);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
    }
  }

  #endConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}
