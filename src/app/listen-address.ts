import { type AddressInfo, createServer } from 'node:net';
import type { Address, Config } from '../config/config.ts';
import { OperatorError } from '../errors/operator-error.ts';

/** Listens for a moment; the error when that cannot be, null when it can. Port 0 is always free. */
export function tryListen({ host, port }: Address): Promise<NodeJS.ErrnoException | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.on('error', resolve);
    server.listen(port, host, () => server.close(() => resolve(null)));
  });
}

/** A port that was free a moment ago. Throws the system's error for a host that has none. */
export function freePort(host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, host, () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

/**
 * Throws a `OperatorError` when the configured address cannot be had. Asked before the database starts: whoever finds the port taken
 * knows it at once, and nothing has to be stopped again.
 */
export async function assertListenable(config: Config): Promise<void> {
  const error = await tryListen(config.listen);
  if (error !== null) throw aboutAddress(error, config);
}

/** Turns the error of an address that cannot be had into one that names the option; any other error stays as it is. */
export function aboutAddress(error: unknown, config: Config): unknown {
  const { code, port, address, syscall, hostname } = error as Record<string, unknown>;
  const isOfName = syscall === 'getaddrinfo' && hostname === config.listen.host;
  if (syscall !== 'listen' && !isOfName) return error;
  const isAdmin = port === config.admin.port && port !== config.listen.port;
  if (code === 'EADDRINUSE') {
    const remedy = isAdmin
      ? 'choose another with admin.port in naru.yaml'
      : 'choose another with --port N, or listen.port in naru.yaml';
    return new OperatorError(
      `port ${String(port)} on ${String(address)} is taken by another program: ${remedy}`,
    );
  }
  const { host, port: wanted } = isAdmin ? config.admin : config.listen;
  return new OperatorError(
    `cannot listen on ${host} port ${wanted} (${String(code)}): choose others with --host and --port`,
  );
}
