import { type AddressInfo, createServer } from 'node:net';
import type { Address, Config } from '../config/config.ts';
import { OperatorError } from '../errors/operator-error.ts';

/** Tries to listen; returns the error, or null on success. Port 0 is always free. */
export function tryListen({ host, port }: Address): Promise<NodeJS.ErrnoException | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.on('error', resolve);
    server.listen(port, host, () => server.close(() => resolve(null)));
  });
}

/** A currently free port. Throws the system error when the host is invalid. */
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
 * Throws an `OperatorError` when the configured address is unavailable. Called before the database
 * starts, so that the operator sees the error at once and nothing has to be stopped.
 */
export async function assertListenable(config: Config): Promise<void> {
  const error = await tryListen(config.listen);
  if (error !== null) throw aboutAddress(error, config);
}

/**
 * Turns the error of an unavailable address into one that names the option; returns any other error
 * unchanged.
 */
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
      `port ${String(port)} on ${String(address)} is in use by another program: ${remedy}`,
    );
  }
  const { host, port: wanted } = isAdmin ? config.admin : config.listen;
  return new OperatorError(
    `cannot listen on ${host} port ${wanted} (${String(code)}): choose another address with --host and --port`,
  );
}
