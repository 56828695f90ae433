import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the range from which the kernel takes ports by itself, so that no outgoing connection and
 * no listener on port 0 takes one before its user has started; above the default ports of engines,
 * at which a starting server looks for one; below the ports that Naru gives to engines.
 */
const firstPort = 12_000;
const lastPort = 24_000;
/** Each test process has a range of its own: concurrent ones do not choose the same port. */
const portsPerProcess = 40;
const ranges = Math.floor((lastPort - firstPort) / portsPerProcess);
let next = 0;

/** A port of 127.0.0.1 without a listener, for a process that cannot listen on port 0. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < portsPerProcess; tries += 1) {
    const port = firstPort + (process.pid % ranges) * portsPerProcess + (next++ % portsPerProcess);
    if (await isFree(port)) return port;
  }
  throw new Error('no port of this process is free');
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const listening = once(server, 'listening').then(
    () => true,
    () => false,
  );
  server.listen(port, '127.0.0.1');
  if (!(await listening)) return false;
  server.close();
  await once(server, 'close');
  return true;
}
