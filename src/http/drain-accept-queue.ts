import type { Server } from 'node:net';
import type { Clock } from '../time/clock.ts';

/** A turn of the event loop with nothing to do takes about 0.02 ms. */
const quietTurnMs = 0.2;
/** Clients that connect without a pause are not waited for any longer. */
const maxTurns = 2_000;

/**
 * Resolves right behind a turn of the event loop that accepted nobody, so that the caller can stop listening: closing the socket
 * resets those who have connected and are not accepted, and a proxy has sent them a request by then. A turn accepts one at most.
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
