import { Server } from 'node:net';
import type { Clock } from '../time/clock.ts';

/** An idle turn of the event loop takes about 0.02 ms. */
const quietTurnMs = 0.2;
/** Stops waiting after this many turns, even if clients keep connecting. */
const maxTurns = 2_000;

/**
 * Closes the listening socket right after a turn of the event loop that accepted no connection.
 * Resolves then; `onClosed` runs when the last connection has ended too. Closing the socket resets
 * connections that are not accepted yet, and a proxy may already have sent a request on one. A turn
 * accepts one connection at most. Linux has no way to refuse connections before the socket is
 * closed, so the time between the last accept and the close can only be made short.
 */
export async function stopListening(server: Server, clock: Clock, onClosed: () => void): Promise<void> {
  // The HTTP server's own `close` would cut idle connections.
  const close = (one: Server): Server => Server.prototype.close.call(one);
  // The first call compiles it: on a busy machine long enough for another process to take the core.
  close(new Server());
  server.once('close', onClosed);
  let accepted = 0;
  const count = (): void => {
    accepted += 1;
  };
  server.on('connection', count);
  // The first turn ends without a look at the sockets when this was called from one of their
  // events.
  await new Promise(setImmediate);
  for (let turns = 0; turns < maxTurns; turns += 1) {
    const beganMs = clock.monotonic();
    const before = accepted;
    await new Promise(setImmediate);
    if (accepted === before && clock.monotonic() - beganMs < quietTurnMs) break;
  }
  close(server);
  server.off('connection', count);
}
