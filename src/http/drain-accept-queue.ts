import type { Server } from 'node:net';
import type { Clock } from '../time/clock.ts';

/** An idle turn of the event loop takes about 0.02 ms. */
const quietTurnMs = 0.2;
/** Stops waiting after this many turns, even if clients keep connecting. */
const maxTurns = 2_000;

/**
 * Resolves right after a turn of the event loop that accepted no connection, so that the caller can
 * stop listening. Closing the socket resets connections that are not accepted yet, and a proxy may
 * already have sent a request on one. A turn accepts one connection at most.
 */
export async function drainAcceptQueue(server: Server, clock: Clock): Promise<void> {
  let accepted = 0;
  const count = (): void => {
    accepted += 1;
  };
  server.on('connection', count);
  for (let turns = 0; turns < maxTurns; turns += 1) {
    const beganMs = clock.monotonic();
    const before = accepted;
    await new Promise(setImmediate);
    if (accepted === before && clock.monotonic() - beganMs < quietTurnMs) break;
  }
  server.off('connection', count);
}
