import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { type AddressInfo, connect, type Server, type Socket } from 'node:net';
import { afterNextReads } from '../time/after-next-reads.ts';
import type { Clock } from '../time/clock.ts';

/** Where Linux lists the connections of this network namespace; without IPv6 there is no second. */
const tables = ['/proc/net/tcp', '/proc/net/tcp6'];
const established = '01';
const synReceived = '03';
/** A connection that no process has accepted has no inode. */
const noInode = '0';
/**
 * The length that the queue is given; one connection more fits in. When as many handshakes are under
 * way, thus always with a length of 0, the kernel answers with SYN cookies and remembers nothing: a
 * client whose last packet it then drops has a connection that this machine does not know.
 */
const shortQueue = 8;
/**
 * A handshake whose last packet was dropped goes on when the client sends its data again: after 0.2,
 * 0.6 and 1.4 s. Where clients connect all the time, others are dropped meanwhile.
 */
const maxMs = 5_000;
const checkHandshakesMs = 25;

interface LocalAddress {
  readonly port: number;
  readonly host: string;
}

/** The client's ports of the connections to a port that are not accepted. */
interface NotAccepted {
  /** Whose handshake is complete. */
  readonly waiting: readonly number[];
  /** Whose handshake is under way; for the client it may be complete. */
  readonly underWay: readonly number[];
}

/**
 * Keeps connections from waiting for their accept: makes the queue of a listening socket short, and
 * keeps it full of connections of our own. The kernel then drops the packets of others, whose clients
 * try again after a second; once the socket is closed, they are refused. A handshake that was under
 * way before is given room to complete.
 * Resolves in the turn in which only ours wait; the caller must close the socket in it. The result
 * ends our connections. After `maxMs` it no longer waits for handshakes, of which some may never end.
 * Null where this cannot be done: not on Linux, or others connected faster for `maxMs`.
 */
export async function plugAcceptQueue(server: Server, clock: Clock): Promise<(() => void) | null> {
  const listening = server.address() as AddressInfo | null;
  if (listening === null) return null;
  const address = { port: listening.port, host: loopbackOf(listening.address) };
  // Node has no other way to change the length of the queue of a socket that listens.
  const { _handle: handle } = server as { _handle?: { listen?: (length: number) => number } };
  if (notAcceptedAt(address.port) === null || handle?.listen?.(shortQueue) !== 0) return null;
  const untilMs = clock.monotonic() + maxMs;
  const plugs = new Plugs(address);
  await plugs.add(shortQueue + 1);
  for (;;) {
    // Takes some milliseconds where the machine has thousands of connections.
    const { waiting, underWay } = notAcceptedAt(address.port) ?? { waiting: [], underWay: [] };
    const isFull = waiting.length > shortQueue;
    const isLate = clock.monotonic() >= untilMs;
    if (isFull && plugs.include(waiting) && (underWay.length === 0 || isLate)) return () => plugs.keep([]);
    plugs.keep(isLate ? [] : waiting);
    if (isLate) return null;
    if (isFull && underWay.length === 0) {
      // Each one that is accepted makes room, for ours if we are the next to connect.
      for (const _ of waiting) {
        await nextAccept(server);
        await plugs.add(1);
      }
    } else {
      await handshakesEnd(address.port, clock, untilMs);
      await plugs.add(shortQueue + 1);
    }
  }
}

/** Resolves when no handshake is under way, or at a monotonic time. All that waits is accepted. */
async function handshakesEnd(port: number, clock: Clock, untilMs: number): Promise<void> {
  do await new Promise<void>((resolve) => clock.after(checkHandshakesMs, resolve));
  while (clock.monotonic() < untilMs && (notAcceptedAt(port)?.underWay.length ?? 0) > 0);
}

/** Our connections to a listening socket of this machine, accepted or not. */
class Plugs {
  readonly #address: LocalAddress;
  #sockets: readonly Socket[] = [];

  constructor(address: LocalAddress) {
    this.#address = address;
  }

  /** Begins to connect in this turn. To the own machine, the kernel mostly completes it at once. */
  async add(count: number): Promise<void> {
    const added = Array.from({ length: count }, () => connect(this.#address));
    this.#sockets = [...this.#sockets, ...added];
    // An error shows as a connection that does not wait in the queue.
    for (const socket of added) socket.on('error', () => {});
    await Promise.all(added.map((socket) => once(socket, 'connectionAttempt').catch(() => {})));
  }

  /** Whether all of these client's ports are ours. */
  include(ports: readonly number[]): boolean {
    const own = new Set(this.#sockets.map(({ localPort }) => localPort));
    return ports.every((port) => own.has(port));
  }

  /** Ends all except those of these client's ports. */
  keep(ports: readonly number[]): void {
    const isKept = ({ localPort = 0 }: Socket): boolean => ports.includes(localPort);
    for (const socket of this.#sockets) if (!isKept(socket)) socket.destroy();
    this.#sockets = this.#sockets.filter(isKept);
  }
}

/**
 * Resolves when a connection was accepted, before its client can be served and connect again; or
 * after a turn without one. A turn accepts one connection at most.
 */
function nextAccept(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      server.off('connection', end);
      resolve();
    };
    server.on('connection', end);
    void afterNextReads().then(end);
  });
}

function loopbackOf(address: string): string {
  if (address === '::') return '::1';
  return address === '0.0.0.0' ? '127.0.0.1' : address;
}

/** Null: not known. */
function notAcceptedAt(port: number): NotAccepted | null {
  const found = tables.filter((table) => existsSync(table));
  if (found.length === 0) return null;
  const waiting: number[] = [];
  const underWay: number[] = [];
  for (const table of found) {
    for (const line of readFileSync(table, 'latin1').split('\n').slice(1)) {
      const [, local = '', remote = '', state, , , , , , inode] = line.trim().split(/\s+/);
      if (inode !== noInode || portOf(local) !== port) continue;
      if (state === established) waiting.push(portOf(remote));
      else if (state === synReceived) underWay.push(portOf(remote));
    }
  }
  return { waiting, underWay };
}

/** The port of an address such as `0100007F:1F90`. */
function portOf(address: string): number {
  return Number.parseInt(address.slice(address.lastIndexOf(':') + 1), 16);
}
