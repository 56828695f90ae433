import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { type AddressInfo, connect, type Server, type Socket } from 'node:net';

/** Where Linux lists the connections of this network namespace; without IPv6 there is no second. */
const tables = ['/proc/net/tcp', '/proc/net/tcp6'];
const established = '01';
/** A connection that no process has accepted has no inode. */
const noInode = '0';
/**
 * Turns of the event loop; each accepts one connection at most, and reads the tables, which takes
 * longer the more connections there are.
 */
const maxTurns = 30;

/**
 * Keeps connections from waiting for their accept: makes the queue of a listening socket as short as
 * the kernel allows, one connection, and puts one of our own there. The kernel then drops the packets
 * of others, whose clients try again after a second; once the socket is closed, they are refused.
 * A connection whose handshake is under way to another machine is lost all the same.
 * Resolves in the turn in which only ours waits; the caller must close the socket in it. The result
 * ends our connection. Null where this cannot be done: not on Linux, or connections arrived faster.
 */
export async function plugAcceptQueue(server: Server): Promise<(() => void) | null> {
  const listening = server.address() as AddressInfo | null;
  if (listening === null) return null;
  const { port, address } = listening;
  // Node has no other way to change the length of the queue of a socket that listens.
  const { _handle: handle } = server as { _handle?: { listen?: (backlog: number) => number } };
  if (waitingAt(port) === null || handle?.listen?.(0) !== 0) return null;
  let plug: Socket | null = null;
  for (let turns = 0; turns < maxTurns; turns += 1) {
    plug ??= await connectNow({ port, host: loopbackOf(address) });
    const own = plug.localPort;
    const waiting = waitingAt(port) ?? [];
    if (waiting.length === 1 && waiting[0] === own) return () => plug?.destroy();
    if (own === undefined || !waiting.includes(own)) {
      // Another one was faster, or ours was accepted.
      plug.destroy();
      plug = null;
    }
    await new Promise(setImmediate);
  }
  plug?.destroy();
  return null;
}

/** Begins to connect in this turn. To the own machine, the kernel then completes it at once. */
async function connectNow(address: { readonly port: number; readonly host: string }): Promise<Socket> {
  const socket = connect(address);
  socket.on('error', () => {});
  // An error shows as a connection that does not wait in the queue.
  await once(socket, 'connectionAttempt').catch(() => {});
  return socket;
}

function loopbackOf(address: string): string {
  if (address === '::') return '::1';
  return address === '0.0.0.0' ? '127.0.0.1' : address;
}

/** The client's ports of the connections to a port that wait for their accept; null: not known. */
function waitingAt(port: number): readonly number[] | null {
  const found = tables.filter((table) => existsSync(table));
  if (found.length === 0) return null;
  return found.flatMap((table) =>
    readFileSync(table, 'latin1')
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter(
        ([, local = '', , state, , , , , , inode]) =>
          state === established && inode === noInode && portOf(local) === port,
      )
      .map(([, , remote = '']) => portOf(remote)),
  );
}

/** The port of an address such as `0100007F:1F90`. */
function portOf(address: string): number {
  return Number.parseInt(address.slice(address.lastIndexOf(':') + 1), 16);
}
