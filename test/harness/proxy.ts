import { once } from 'node:events';
import { createServer, request as requestHttp } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TestContext } from 'node:test';
import { createServer as createTls } from 'node:tls';
import type { Certificate } from './certificate-server.ts';

/** What a proxy does with a CONNECT. */
type Conduct = 'tunnel' | 'silence';

/** A proxy that wants a password, and alone knows where `*.test` is. */
export interface TestProxy {
  /** With the user and the password. */
  readonly url: string;
  /** The same with another password. */
  readonly wrongUrl: string;
  /** What it was asked for: `CONNECT host:port`, or `GET http://…`. */
  readonly seen: string[];
  conduct: Conduct;
}

export const proxyPassword = 'p@ss word';
const credential = `Basic ${Buffer.from(`us@er:${proxyPassword}`).toString('base64')}`;

/** Starts a proxy, over TLS with a certificate. A host of `hosts` is at that port of this machine. */
export async function startProxy(
  t: TestContext,
  hosts: Readonly<Record<string, number>>,
  certificate?: Certificate,
): Promise<TestProxy> {
  const server = certificate === undefined ? createServer() : createTlsServer(certificate);
  const sockets = new Set<Duplex>();
  const placeOf = (host: string, port: string): readonly [number, string] => {
    const known = hosts[host];
    return known === undefined ? [Number(port), host] : [known, '127.0.0.1'];
  };
  const proxy = { seen: [] as string[], conduct: 'tunnel' as Conduct };
  server.on('connect', ({ url = '', headers }, socket) => {
    proxy.seen.push(`CONNECT ${url}`);
    sockets.add(socket.on('error', () => {}));
    if (headers['proxy-authorization'] !== credential) socket.end('HTTP/1.1 407 Who\r\n\r\n');
    else if (proxy.conduct === 'tunnel') {
      const [host = '', port = ''] = url.split(':');
      const target = connect(...placeOf(host, port), () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        target.pipe(socket).pipe(target);
      });
      sockets.add(target.on('error', () => socket.destroy()));
      socket.on('close', () => target.destroy());
    }
  });
  server.on('request', (incoming, response) => {
    const { url = '', method = '', headers } = incoming;
    proxy.seen.push(`${method} ${url}`);
    if (headers['proxy-authorization'] !== credential) return void response.writeHead(407).end();
    const { hostname, port, pathname } = new URL(url);
    delete headers['proxy-authorization'];
    const [toPort, host] = placeOf(hostname, port);
    const target = requestHttp({ host, port: toPort, path: pathname, method, headers }, (reply) => {
      response.writeHead(reply.statusCode ?? 0, reply.headers);
      reply.pipe(response);
    });
    incoming.pipe(target.on('error', () => response.destroy()));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = server.address() as AddressInfo;
  const urlWith = (password: string): string =>
    `http${certificate === undefined ? '' : 's'}://us%40er:${encodeURIComponent(password)}@localhost:${port}`;
  return Object.assign(proxy, { url: urlWith(proxyPassword), wrongUrl: urlWith('wrong-password') });
}

/** The port of a TLS server that passes what it decrypts to another port. */
export async function startTlsInFront(
  t: TestContext,
  port: number,
  certificate: Certificate,
): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createTls(certificate, (socket) => {
    const target = connect(port, '127.0.0.1');
    for (const each of [socket, target]) sockets.add(each.on('error', () => {}));
    socket.on('close', () => target.destroy());
    target.on('close', () => socket.destroy());
    target.pipe(socket).pipe(target);
  });
  server.on('tlsClientError', () => {}).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}
